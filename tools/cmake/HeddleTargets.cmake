# heddle_library(), heddle_tests(), heddle_program(), heddle_benchmark(): one way to make each kind of target.
#
# Flags hang on targets, never on the directory: a project that adds Heddle as a subdirectory keeps its own.

include(GNUInstallDirs)
include(HeddleSimulation)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS context)

# heddle/<path in the repository> resolves through one folder of links, in the build tree and after installation alike.
set(HEDDLE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")

function(heddle_link_includes include_dir)
  # Further arguments: folders that get no link, because files of their own come to stand there (the planted build's copies).
  set(without_link "${ARGN}")
  file(MAKE_DIRECTORY "${include_dir}/heddle")
  foreach(folder core traces simreactor realreactor properties tools)
    if(NOT folder IN_LIST without_link)
      file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${include_dir}/heddle/${folder}" SYMBOLIC)
    endif()
  endforeach()
  foreach(umbrella core/heddle.hpp realreactor/uv.hpp simreactor/sim.hpp properties/gtest.hpp properties/rapidcheck.hpp)
    get_filename_component(name "${umbrella}" NAME)
    file(CREATE_LINK "${include_dir}/heddle/${umbrella}" "${include_dir}/heddle/${name}" SYMBOLIC)
  endforeach()
endfunction()

heddle_link_includes("${HEDDLE_INCLUDE_DIR}")

add_library(heddle_flags INTERFACE)
target_compile_features(heddle_flags INTERFACE cxx_std_20)
# Traces and reports carry __FILE__: relative to the project, so that they are the same on every machine.
# The relative forms are what a compiler cache may make of the absolute ones.
cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_BINARY_DIR}" OUTPUT_VARIABLE heddle_source_from_build)
target_compile_options(heddle_flags INTERFACE
  "-fmacro-prefix-map=${heddle_source_from_build}/=" "-fmacro-prefix-map=include/heddle/="
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=" "-fmacro-prefix-map=${PROJECT_BINARY_DIR}/include/heddle/="
  -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual> -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns inside std::string's own operator+ (GCC bug 105651)
  $<$<BOOL:${HEDDLE_WERROR}>:-Werror>
  # What a sanitizer finds it finds with little optimisation too, and line tables are all that its reports need: a third of the compile
  # time. UndefinedBehaviorSanitizer watches the libraries: without it, tests and scenarios take half of theirs.
  $<$<BOOL:${HEDDLE_SANITIZE}>:$<IF:$<BOOL:$<TARGET_PROPERTY:HEDDLE_COMPILES_QUICKLY>>,-Og,-O1>;-g1>
  $<$<STREQUAL:${HEDDLE_SANITIZE},address>:-fsanitize=address;-fno-omit-frame-pointer>
  $<$<AND:$<STREQUAL:${HEDDLE_SANITIZE},address>,$<NOT:$<BOOL:$<TARGET_PROPERTY:HEDDLE_COMPILES_QUICKLY>>>>:-fsanitize=undefined;-fno-sanitize-recover=undefined>
  $<$<STREQUAL:${HEDDLE_SANITIZE},thread>:-fsanitize=thread;-fno-omit-frame-pointer>
  $<$<BOOL:${HEDDLE_FUZZ}>:-fsanitize=fuzzer-no-link>
  $<$<BOOL:${HEDDLE_COVERAGE}>:--coverage>)
target_link_options(heddle_flags INTERFACE
  $<$<STREQUAL:${HEDDLE_SANITIZE},address>:-fsanitize=address,undefined>
  $<$<STREQUAL:${HEDDLE_SANITIZE},thread>:-fsanitize=thread>
  $<$<BOOL:${HEDDLE_FUZZ}>:-fsanitize=fuzzer-no-link>
  $<$<BOOL:${HEDDLE_COVERAGE}>:--coverage>)

# heddle_library(NAME SOURCES … [PUBLIC …] [PRIVATE …]): target heddle_NAME, alias heddle::NAME. Its sources are remembered, so that
# the planted build can compile them once more from its patched copy.
function(heddle_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(heddle_${name} STATIC ${arg_SOURCES})
  add_library(heddle::${name} ALIAS heddle_${name})
  set_target_properties(heddle_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(heddle_${name} PUBLIC
    $<BUILD_INTERFACE:${HEDDLE_INCLUDE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(heddle_${name} PUBLIC cxx_std_20)
  target_link_libraries(heddle_${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:heddle_flags> ${arg_PRIVATE})
  set(absolute "")
  foreach(source IN LISTS arg_SOURCES)
    list(APPEND absolute "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
  endforeach()
  set_property(GLOBAL PROPERTY HEDDLE_SOURCES_${name} "${absolute}")
  set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES heddle_${name})
endfunction()

# What is under test keeps its optimisation; tests, scenarios and commands take half the time to compile with less of it.
function(heddle_compiles_quickly target)
  set_target_properties(${target} PROPERTIES HEDDLE_COMPILES_QUICKLY ON)
  if(NOT HEDDLE_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
endfunction()

# GCC 12 warns inside std::regex itself where a sanitizer is on.
function(heddle_uses_regex target)
  if(TARGET ${target} AND HEDDLE_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
endfunction()

function(heddle_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE heddle_flags ${arg_LINK})
endfunction()

# heddle_tests(NAME LABELS … SOURCES … LINK … [ENVIRONMENT …]): one GoogleTest binary, each of its tests a CTest test. Its top folder
# is a further label, so that `ctest -L realreactor` runs what one folder has.
function(heddle_tests name)
  if(NOT HEDDLE_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS;SOURCES;LINK;ENVIRONMENT")
  find_package(GTest REQUIRED)
  include(GoogleTest)
  heddle_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} GTest::gtest GTest::gtest_main)
  heddle_compiles_quickly(${name})
  set(timeout 300)
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  string(REGEX REPLACE "/.*" "" folder "${folder}")
  # A fake stack per coroutine makes a search ten times slower: uses after return are looked for where the libraries are tested alone.
  if(HEDDLE_SANITIZE STREQUAL "address" AND folder MATCHES "^(core|traces|simreactor|realreactor)$")
    list(APPEND arg_ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1")
  endif()
  # A sanitizer takes longer to start than most tests take: there a binary is one test, and says itself which of its own failed.
  if(HEDDLE_TESTS_BY_BINARY)
    math(EXPR timeout "${timeout} * 4")
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABELS};${folder}" ENVIRONMENT "${arg_ENVIRONMENT}")
    return()
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120 TEST_LIST ${name}_list PROPERTIES TIMEOUT ${timeout})
  # Lists do not survive gtest_discover_tests' PROPERTIES, so they are set by a script that CTest reads after the discovered tests.
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [[
foreach(test IN LISTS @name@_list)
  set_tests_properties("${test}" PROPERTIES LABELS "@arg_LABELS@;@folder@" ENVIRONMENT "@arg_ENVIRONMENT@")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

function(heddle_benchmark name)
  if(NOT HEDDLE_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  find_package(benchmark REQUIRED)
  heddle_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} benchmark::benchmark)
endfunction()
