# Decides how fibers enter jump_fcontext: sets HEDDLE_PLAIN_SWITCH_NEEDED when the return-balanced trampoline must not be used.
#
# Asked for by HEDDLE_PLAIN_SWITCH, or the trial program (two flows that switch a few thousand times) does not build, or does not
# run here: another architecture, shadow stacks, a cross build whose result nobody can see.
set(HEDDLE_PLAIN_SWITCH_NEEDED ${HEDDLE_PLAIN_SWITCH})
if(NOT HEDDLE_PLAIN_SWITCH)
  if(CMAKE_CROSSCOMPILING)
    set(HEDDLE_BALANCED_SWITCH_RUNS 1)
    set(HEDDLE_BALANCED_SWITCH_BUILDS FALSE)
  elseif(NOT DEFINED HEDDLE_BALANCED_SWITCH_RUNS)
    try_run(HEDDLE_BALANCED_SWITCH_RUNS HEDDLE_BALANCED_SWITCH_BUILDS
      "${PROJECT_BINARY_DIR}/balanced_switch" "${PROJECT_SOURCE_DIR}/core/run/detail/balanced_jump_trial.cpp"
      CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${HEDDLE_INCLUDE_DIR}"
      LINK_LIBRARIES Boost::context
      CXX_STANDARD 20)
    if(HEDDLE_BALANCED_SWITCH_BUILDS AND HEDDLE_BALANCED_SWITCH_RUNS EQUAL 0)
      message(STATUS "Stack switch: return-balanced")
    else()
      message(STATUS "Stack switch: plain jump_fcontext (the return-balanced trampoline does not run here)")
    endif()
  endif()
  if(NOT HEDDLE_BALANCED_SWITCH_BUILDS OR NOT HEDDLE_BALANCED_SWITCH_RUNS EQUAL 0)
    set(HEDDLE_PLAIN_SWITCH_NEEDED ON)
  endif()
endif()
