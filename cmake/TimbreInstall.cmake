# SPDX-License-Identifier: MIT
#
# What `cmake --install` puts where, below a prefix that may be moved afterwards:
#
#   bin/timbre                           the program (installed by tools/)
#   lib/libtimbre.so.<major>             the library; looks for its plug-ins beside itself, then in timbre/ beside itself
#   lib/timbre/                          the plug-ins, and the LibTorch files that the back end needs, found by $ORIGIN
#   lib/timbre/python/                   the Python package
#   lib/cmake/timbre, lib/pkgconfig      for those who build against it
#   include/timbre/                      the headers
#   share/timbre/voices                  voices that belong to the project
#
# With TIMBRE_BUNDLE_LIBTORCH=OFF the LibTorch files stay where TIMBRE_LIBTORCH_DIR says, and the back end refers to them.
include(CMakePackageConfigHelpers)
set(timbre_plugin_dir "${CMAKE_INSTALL_LIBDIR}/timbre")
set(timbre_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/timbre")
set(timbre_licence_dir "${CMAKE_INSTALL_DATADIR}/doc/timbre")

install(DIRECTORY include/timbre DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE DESTINATION "${timbre_licence_dir}")
install(DIRECTORY bindings/python/timbre DESTINATION "${timbre_plugin_dir}/python"
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
if(EXISTS "${PROJECT_SOURCE_DIR}/data/voices")
  install(DIRECTORY data/voices DESTINATION "${CMAKE_INSTALL_DATADIR}/timbre")
endif()

# The library, and the headers-only C++ part as timbre::core.
set_target_properties(timbre PROPERTIES INSTALL_RPATH "")
set_target_properties(timbre_core PROPERTIES EXPORT_NAME core)
install(TARGETS timbre timbre_core EXPORT timbreTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT timbreTargets NAMESPACE timbre:: DESTINATION "${timbre_package_dir}")
configure_package_config_file(cmake/timbreConfig.cmake.in "${CMAKE_BINARY_DIR}/timbreConfig.cmake"
                              INSTALL_DESTINATION "${timbre_package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/timbreConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/timbreConfig.cmake" "${CMAKE_BINARY_DIR}/timbreConfigVersion.cmake"
        DESTINATION "${timbre_package_dir}")
file(RELATIVE_PATH timbre_prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/timbre.pc.in "${CMAKE_BINARY_DIR}/timbre.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/timbre.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(TARGETS timbre-espeak LIBRARY DESTINATION "${timbre_plugin_dir}")

if(TARGET timbre-torch)
  install(TARGETS timbre-torch LIBRARY DESTINATION "${timbre_plugin_dir}")
  if(TIMBRE_BUNDLE_LIBTORCH)
    set_target_properties(timbre-torch PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(FILES ${timbre_libtorch_files} DESTINATION "${timbre_plugin_dir}")
    install(DIRECTORY ${timbre_libtorch_licences} DESTINATION "${timbre_licence_dir}"
            FILES_MATCHING PATTERN "licenses/*" PATTERN "LICENSE*" PATTERN "License*" PATTERN "NOTICE*")
  else()
    set_target_properties(timbre-torch PROPERTIES INSTALL_RPATH "${TIMBRE_LIBTORCH_DIR}/lib")
  endif()
endif()
