# SPDX-License-Identifier: MIT
#
# timbre_shared_object(<target> <symbol list>): how every shared object of ours is linked.
#
# The list in abi/ has one name per line (# starts a comment); it becomes a linker version script, so that nothing else
# is exported whatever the code says. Objects are never unloaded (-z nodelete), have no undefined symbols, and leave out
# sections that nothing reaches.
function(timbre_shared_object target list)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" names REGEX "^[A-Za-z_]")
  list(JOIN names ";\n    " body)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{\n  global:\n    ${body};\n  local: *;\n};\n" @ONLY)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${script}" LINKER:-z,nodelete LINKER:--gc-sections)
  if(NOT TIMBRE_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()
