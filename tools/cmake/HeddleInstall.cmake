# Installation: headers under include/heddle, static libraries, a CMake package and pkg-config files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(heddle_libraries GLOBAL PROPERTY HEDDLE_LIBRARIES)
install(TARGETS ${heddle_libraries} EXPORT heddle ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
