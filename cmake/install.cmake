# SPDX-License-Identifier: Apache-2.0
# `cmake --install build`: libraries, headers, program, pkg-config file, CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS tributary_shared tributary_static EXPORT tributary-targets)
if(TARGET tributary)
    install(TARGETS tributary)
endif()
install(DIRECTORY include/tributary TYPE INCLUDE FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tributary)
install(EXPORT tributary-targets NAMESPACE tributary:: DESTINATION ${package_dir})
configure_package_config_file(cmake/tributary-config.cmake.in ${CMAKE_BINARY_DIR}/tributary-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tributary-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tributary-config.cmake ${CMAKE_BINARY_DIR}/tributary-config-version.cmake
        DESTINATION ${package_dir})

set(pc_dl_libraries "")
foreach(library ${CMAKE_DL_LIBS})
    string(APPEND pc_dl_libraries " -l${library}")
endforeach()
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/tributary.pc.in ${CMAKE_BINARY_DIR}/tributary.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tributary.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
