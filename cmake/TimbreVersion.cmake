# SPDX-License-Identifier: MIT
#
# Sets TIMBRE_VERSION from include/timbre/c/version.h, the only place where the version is written.
set(timbre_version_header "${CMAKE_CURRENT_LIST_DIR}/../include/timbre/c/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${timbre_version_header}")
file(READ "${timbre_version_header}" timbre_version_text)
foreach(part IN ITEMS MAJOR MINOR PATCH)
  if(NOT timbre_version_text MATCHES "#define[ \t]+TIMBRE_VERSION_${part}[ \t]+([0-9]+)")
    message(FATAL_ERROR "${timbre_version_header}: no TIMBRE_VERSION_${part} in it")
  endif()
  set(timbre_version_${part} "${CMAKE_MATCH_1}")
endforeach()
set(TIMBRE_VERSION "${timbre_version_MAJOR}.${timbre_version_MINOR}.${timbre_version_PATCH}")
