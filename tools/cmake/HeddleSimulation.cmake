# heddle_add_simulation(TARGET [SOURCES …] [LINK …] [LABELS …] [TIMEOUT SECONDS] [NO_MAIN]): a GoogleTest binary whose
# HEDDLE_PROPERTY_TESTs search schedules. Its tests get the label `property`, so that `ctest -L property` runs them.
#
# TARGET is made, or is an executable that exists already. NO_MAIN: it has a main of its own. Works in Heddle's own tree, in a project
# that contains Heddle, and in one that found its package with COMPONENTS gtest.
function(heddle_add_simulation target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MAIN" "TIMEOUT" "SOURCES;LINK;LABELS")
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
  if(TARGET ${target})
    target_sources(${target} PRIVATE ${arg_SOURCES})
  else()
    add_executable(${target} ${arg_SOURCES})
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
