# SPDX-License-Identifier: MIT
#
# timbre_add_fuzzer(<name> SOURCES <file>... [LIBRARIES <target>...] CORPUS <folder> [SECONDS <n>]): one libFuzzer program
# and one ctest labelled `fuzz` that runs it over the corpus in the source tree and onward for n seconds (default 60).
# New inputs go to the build folder; the corpus is only read. `timbre_fuzzers` builds them all.
add_custom_target(timbre_fuzzers)

function(timbre_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS;SECONDS" "SOURCES;LIBRARIES")
  if(NOT arg_SECONDS)
    set(arg_SECONDS 60)
  endif()
  cmake_path(ABSOLUTE_PATH arg_CORPUS BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set(found "${CMAKE_BINARY_DIR}/corpus/${name}")
  file(MAKE_DIRECTORY "${found}")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} timbre_warnings)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_dependencies(timbre_fuzzers ${name})
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${arg_SECONDS} -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
                                "${found}" "${arg_CORPUS}")
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()
