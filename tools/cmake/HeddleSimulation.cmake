# heddle_add_simulation(TARGET [INSTRUMENT] [SOURCES …] [LINK …] [LABELS …] [TIMEOUT SECONDS] [NO_MAIN]): a GoogleTest binary whose
# HEDDLE_PROPERTY_TESTs search schedules. Its tests get the label `property`, so that `ctest -L property` runs them.
#
# INSTRUMENT: every load and store of SOURCES reports itself, so that a search needs no annotations (docs/explorer.md). Their copies of
# inline functions and templates are their own, what stands in LINK keeps its. Not in a build with a sanitizer.
#
# TARGET is made, or is an executable that exists already. NO_MAIN: it has a main of its own. Works in Heddle's own tree, in a project
# that contains Heddle, and in one that found its package with COMPONENTS gtest.
# heddle_instrument(TARGET SOURCES … [LINK …]): adds SOURCES, with hooks in them, to an executable.
function(heddle_instrument target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(NOT TARGET heddle::hooks)
    message(FATAL_ERROR "heddle_instrument(${target}): INSTRUMENT uses what ThreadSanitizer plants, and goes with no sanitizer; "
      "this build has none of it: find_package(heddle COMPONENTS gtest hooks), or a build without a sanitizer (HEDDLE_SANITIZE=${HEDDLE_SANITIZE})")
  endif()
  add_library(${target}_instrumented OBJECT ${arg_SOURCES})
  target_link_libraries(${target}_instrumented PRIVATE heddle::hooks ${arg_LINK})
  target_compile_options(${target}_instrumented PRIVATE
    -fsanitize=thread -D_GLIBCXX_EXTERN_TEMPLATE=0 -DHEDDLE_INSTRUMENTED=1
    "SHELL:-include heddle/simreactor/hooks/instrumented.hpp"
    $<$<CXX_COMPILER_ID:GNU>:-U__SANITIZE_THREAD__;-fno-gnu-unique;-fno-builtin-memcpy;-fno-builtin-memmove;-fno-builtin-memset>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}_instrumented.o")
  set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DCXX=${CMAKE_CXX_COMPILER}" "-DNM=${CMAKE_NM}" "-DOBJCOPY=${CMAKE_OBJCOPY}"
      "-DSYMBOLS=${folder}/hooks.symbols" "-DOUT=${out}" "-DOBJECTS=$<JOIN:$<TARGET_OBJECTS:${target}_instrumented>,$<COMMA>>"
      -P "${folder}/InstrumentObjects.cmake"
    DEPENDS "$<TARGET_OBJECTS:${target}_instrumented>" "${folder}/hooks.symbols" "${folder}/InstrumentObjects.cmake"
    COMMENT "Giving the instrumented objects of ${target} their own allocator"
    VERBATIM)
  set_source_files_properties("${out}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE "${out}")
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE heddle::hooks ${arg_LINK})
endfunction()

function(heddle_add_simulation target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MAIN;INSTRUMENT" "TIMEOUT" "SOURCES;LINK;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_add_simulation(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET heddle::gtest)
    message(FATAL_ERROR "heddle_add_simulation(${target}): there is no heddle::gtest; "
      "find_package(heddle COMPONENTS gtest), or install GoogleTest before Heddle is added")
  endif()
  if(NOT TARGET ${target} AND NOT arg_SOURCES)
    message(FATAL_ERROR "heddle_add_simulation(${target}): expected SOURCES, or a target that exists")
  endif()
  find_package(GTest REQUIRED)
  include(GoogleTest)
  set(plain "${arg_SOURCES}")
  if(arg_INSTRUMENT)
    set(plain "")
  endif()
  if(TARGET ${target})
    target_sources(${target} PRIVATE ${plain})
  else()
    add_executable(${target} ${plain})
  endif()
  if(arg_INSTRUMENT)
    heddle_instrument(${target} SOURCES ${arg_SOURCES} LINK heddle::gtest ${arg_LINK})
  endif()
  target_link_libraries(${target} PRIVATE heddle::gtest ${arg_LINK})
  if(NOT arg_NO_MAIN)
    target_link_libraries(${target} PRIVATE GTest::gtest_main)
  endif()
  set(timeout 600)
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${target}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 TEST_LIST ${target}_list
    PROPERTIES TIMEOUT ${timeout})
  # Several labels do not survive gtest_discover_tests' PROPERTIES: they are set by a script that CTest reads after the tests.
  set(labels "property;${arg_LABELS}")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [[
foreach(test IN LISTS @target@_list)
  set_tests_properties("${test}" PROPERTIES LABELS "@labels@")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()
