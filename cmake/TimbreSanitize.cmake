# SPDX-License-Identifier: MIT
#
# TIMBRE_SANITIZE instruments every object of the tree; half-instrumented programs report races and overflows that are
# none, which is why this is the one option that sets flags for all targets.
if(TIMBRE_SANITIZE)
  list(JOIN TIMBRE_SANITIZE "," timbre_sanitizers)
  add_compile_options("-fsanitize=${timbre_sanitizers}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # What AddressSanitizer or the processor reports anyway is not checked a second time: it is half of the compile time.
  if("undefined" IN_LIST TIMBRE_SANITIZE)
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
  add_link_options("-fsanitize=${timbre_sanitizers}")
endif()
