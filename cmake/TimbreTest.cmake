# SPDX-License-Identifier: MIT
#
# timbre_add_test(<name> [ONE_THREAD] SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...] [HEADERS <header>...])
# One Catch2 program, one ctest.
#   ONE_THREAD  nothing in it runs beside anything else: ThreadSanitizer could find nothing, so its tree leaves it out.
#   HEADERS     precompiled with Catch2 for this program alone; all others share Catch2's.
find_package(Catch2 2 REQUIRED)

# Catch2's main is compiled once. It is not ours to look at, and neither fast nor slow.
if(NOT TARGET timbre_catch_main)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/catch_main.cpp"
       CONTENT "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n" @ONLY)
  add_library(timbre_catch_main STATIC "${CMAKE_BINARY_DIR}/catch_main.cpp")
  target_link_libraries(timbre_catch_main PUBLIC Catch2::Catch2)
  target_compile_options(timbre_catch_main PRIVATE -O0 -g0 $<$<BOOL:${TIMBRE_SANITIZE}>:-fno-sanitize=all>)
endif()

# Catch2 is slow to read and to optimise, and a test's own code need not be fast.
set(timbre_test_options "")
if(NOT TIMBRE_SANITIZE)
  set(timbre_test_options -O1)
endif()

# Its header is read once. A program, because objects for libraries are compiled with other flags.
if(NOT TARGET timbre_test_header)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_header.cpp" CONTENT "int main() { return 0; }\n" @ONLY)
  add_executable(timbre_test_header EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/test_header.cpp")
  target_link_libraries(timbre_test_header PRIVATE Catch2::Catch2 timbre_warnings Threads::Threads)
  target_compile_options(timbre_test_header PRIVATE ${timbre_test_options})
  target_precompile_headers(timbre_test_header PRIVATE <catch2/catch.hpp>)
  set_target_properties(timbre_test_header PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endif()

function(timbre_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD" "" "SOURCES;LIBRARIES;LABELS;HEADERS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} timbre_catch_main timbre_warnings)
  target_compile_options(${name} PRIVATE ${timbre_test_options})
  if(arg_HEADERS)
    target_precompile_headers(${name} PRIVATE <catch2/catch.hpp> ${arg_HEADERS})
  else()
    target_precompile_headers(${name} REUSE_FROM timbre_test_header)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(arg_ONE_THREAD AND TIMBRE_SANITIZE STREQUAL "thread")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()
