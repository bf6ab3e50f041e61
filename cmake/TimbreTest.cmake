# SPDX-License-Identifier: MIT
#
# timbre_add_test(<name> SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...]): one Catch2 program, one ctest.
find_package(Catch2 2 REQUIRED)

# Catch2's main is compiled once.
if(NOT TARGET timbre_catch_main)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/catch_main.cpp"
       CONTENT "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n" @ONLY)
  add_library(timbre_catch_main STATIC "${CMAKE_BINARY_DIR}/catch_main.cpp")
  target_link_libraries(timbre_catch_main PUBLIC Catch2::Catch2)
  target_compile_options(timbre_catch_main PRIVATE -O0 $<$<IN_LIST:undefined,${TIMBRE_SANITIZE}>:-fno-sanitize=undefined>)
endif()

function(timbre_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} timbre_catch_main timbre_warnings)
  # Catch2 is slow to read and to optimise, and a test's own code need not be fast.
  if(NOT TIMBRE_SANITIZE)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  list(LENGTH arg_SOURCES source_count)
  if(source_count GREATER 2)
    target_precompile_headers(${name} PRIVATE <catch2/catch.hpp>)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()
