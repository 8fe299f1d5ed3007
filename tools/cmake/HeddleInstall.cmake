# Installation: headers under include/heddle, static libraries, a CMake package with one component per library, pkg-config files.
#
#   find_package(heddle 0.1 COMPONENTS core realreactor)      only the dependencies of what is asked for are looked up
#
# Components are generated from the targets that heddle_library() made, their dependencies read off the targets: nothing is listed twice.
option(HEDDLE_INSTALL "Install the libraries, headers and package files" ${PROJECT_IS_TOP_LEVEL})
if(NOT HEDDLE_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(heddle_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")
get_property(heddle_libraries GLOBAL PROPERTY HEDDLE_LIBRARIES)
list(FILTER heddle_libraries EXCLUDE REGEX "_testing$")  # stand-ins for unit tests

# What a consumer must find for a library that links TARGET: pairs of a target's name and the line for the package file.
set(heddle_dependencies
  "Boost::context" "find_dependency(Boost 1.81 COMPONENTS context)"
  "Threads::Threads" "find_dependency(Threads)"
  "nlohmann_json::nlohmann_json" "find_dependency(nlohmann_json)"
  "PkgConfig::UV" "find_dependency(PkgConfig)\n  if(NOT TARGET PkgConfig::UV)\n    pkg_check_modules(UV REQUIRED IMPORTED_TARGET GLOBAL libuv)\n  endif()"
  "GTest::gtest" "find_dependency(GTest)"
  "rapidcheck[_a-z]*" "find_dependency(rapidcheck)"
  "CLI11::CLI11" "find_dependency(CLI11)"
  "fmt::fmt" "find_dependency(fmt)")

set(heddle_components "")
set(heddle_component_cases "")
foreach(library IN LISTS heddle_libraries)
  string(REGEX REPLACE "^heddle_" "" component "${library}")
  list(APPEND heddle_components "${component}")
  get_target_property(links ${library} LINK_LIBRARIES)
  set(lines "")
  set(rest "${heddle_dependencies}")
  while(rest)
    list(POP_FRONT rest dependency line)
    if(links MATCHES "(^|[;:>])${dependency}($|[;>])")
      string(APPEND lines "  ${line}\n")
    endif()
  endwhile()
  foreach(other IN LISTS heddle_libraries)
    string(REGEX REPLACE "^heddle_" "" other "${other}")
    if(NOT other STREQUAL component AND links MATCHES "(^|[;:>])heddle(::|_)${other}($|[;>])")
      string(APPEND lines "  heddle_load(${other})\n")
    endif()
  endforeach()
  string(APPEND heddle_component_cases "macro(heddle_needs_${component})\n${lines}endmacro()\n")

  install(TARGETS ${library} EXPORT heddle-${component} ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT heddle-${component} NAMESPACE heddle:: DESTINATION "${heddle_package_dir}")
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/heddleConfig.cmake.in" "${PROJECT_BINARY_DIR}/package/heddleConfig.cmake"
  INSTALL_DESTINATION "${heddle_package_dir}" NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/heddleConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/heddleConfig.cmake" "${PROJECT_BINARY_DIR}/package/heddleConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/HeddleSimulation.cmake" "${CMAKE_CURRENT_LIST_DIR}/InstrumentObjects.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/hooks.symbols" DESTINATION "${heddle_package_dir}")

# Headers, by the path by which they are included. Those of tests and benchmarks stay here, and those of the HTTP service.
foreach(folder core traces simreactor realreactor properties)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle"
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*_test.hpp" EXCLUDE PATTERN "testing" EXCLUDE
    PATTERN "properties/http" EXCLUDE)
endforeach()
file(GLOB heddle_simrun_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/simrun/*.hpp")
install(FILES ${heddle_simrun_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle/tools/simrun")
foreach(umbrella core/heddle.hpp realreactor/uv.hpp simreactor/sim.hpp properties/gtest.hpp properties/rapidcheck.hpp)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${umbrella}")
    install(FILES "${PROJECT_SOURCE_DIR}/${umbrella}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle")
  endif()
endforeach()

# pkg-config, for the runtime and for its libuv reactor. The prefix is where the .pc file stands, so that the tree may be moved.
file(RELATIVE_PATH heddle_prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
function(heddle_pkg_config name description requires libs)
  string(REGEX REPLACE "/$" "" up "${heddle_prefix_from_pc}")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/package/${name}.pc" @ONLY CONTENT [[
prefix=${pcfiledir}/@up@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Libs: -L${libdir} @libs@
Cflags: -I${includedir} -std=c++20
]])
  install(FILES "${PROJECT_BINARY_DIR}/package/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
heddle_pkg_config(heddle-core "Stackful-coroutine runtime" "" "-lheddle_core -lboost_context")
if(TARGET heddle_realreactor)
  heddle_pkg_config(heddle-uv "Heddle's reactor on libuv" "heddle-core libuv" "-lheddle_realreactor")
endif()

if(TARGET simrun)
  install(TARGETS simrun RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
