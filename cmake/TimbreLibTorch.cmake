# SPDX-License-Identifier: MIT
#
# timbre_libtorch: the only place that knows where LibTorch is. It gives headers (as system headers) and two libraries by
# full path; LibTorch's own flags, targets and CUDA look-ups stay out. timbre_libtorch_version is what was found, as a list
# of three numbers.
#
# ATen promises no stable interface from one series (2.11) to the next, so one series is taken: that of the wheel which
# scripts/setup fetches, the only one that the tests have seen. TIMBRE_ANY_LIBTORCH tries another.
if(NOT EXISTS "${TIMBRE_LIBTORCH_DIR}/include/ATen/ATen.h" OR NOT EXISTS "${TIMBRE_LIBTORCH_DIR}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch in TIMBRE_LIBTORCH_DIR=${TIMBRE_LIBTORCH_DIR} (wanted: include/ATen/ATen.h and "
                      "lib/libtorch_cpu.so); run scripts/setup, give -DTIMBRE_LIBTORCH_DIR=<folder>, or -DTIMBRE_TORCH=OFF")
endif()

set(timbre_libtorch_pin "${CMAKE_CURRENT_LIST_DIR}/../scripts/requirements/libtorch.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${timbre_libtorch_pin}")
file(STRINGS "${timbre_libtorch_pin}" timbre_libtorch_wanted REGEX "^torch==")
string(REGEX REPLACE "^torch==([0-9]+\\.[0-9]+).*" "\\1" timbre_libtorch_wanted "${timbre_libtorch_wanted}")
set(timbre_libtorch_version 0 0 0)
foreach(header IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(EXISTS "${TIMBRE_LIBTORCH_DIR}/include/${header}")
    file(STRINGS "${TIMBRE_LIBTORCH_DIR}/include/${header}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    list(TRANSFORM lines REPLACE ".* ([0-9]+)$" "\\1" OUTPUT_VARIABLE timbre_libtorch_version)
    break()
  endif()
endforeach()
list(JOIN timbre_libtorch_version "." found)
if(NOT found MATCHES "^${timbre_libtorch_wanted}\\." AND NOT TIMBRE_ANY_LIBTORCH)
  message(FATAL_ERROR "TIMBRE_LIBTORCH_DIR=${TIMBRE_LIBTORCH_DIR} is LibTorch ${found}; timbre is made for and tested "
                      "with ${timbre_libtorch_wanted}. Give a LibTorch ${timbre_libtorch_wanted}, or "
                      "-DTIMBRE_ANY_LIBTORCH=ON to try this one")
endif()

add_library(timbre_libtorch INTERFACE IMPORTED GLOBAL)
target_include_directories(timbre_libtorch SYSTEM INTERFACE "${TIMBRE_LIBTORCH_DIR}/include")
target_link_libraries(timbre_libtorch INTERFACE "${TIMBRE_LIBTORCH_DIR}/lib/libtorch_cpu.so"
                                                "${TIMBRE_LIBTORCH_DIR}/lib/libc10.so")
# libtorch_cpu needs libcudart and libcupti even on a machine without CUDA; a wheel keeps them in its neighbour folder.
file(GLOB timbre_libtorch_cuda_dirs LIST_DIRECTORIES true "${TIMBRE_LIBTORCH_DIR}/../nvidia/cu*/lib")
foreach(folder IN LISTS timbre_libtorch_cuda_dirs)
  cmake_path(NORMAL_PATH folder)
  target_link_options(timbre_libtorch INTERFACE "LINKER:-rpath-link,${folder}")
endforeach()

# What an installed back end needs beside itself: these files of LibTorch, and the licences that a wheel keeps near.
set(timbre_libtorch_files "${TIMBRE_LIBTORCH_DIR}/lib/libtorch_cpu.so" "${TIMBRE_LIBTORCH_DIR}/lib/libc10.so")
foreach(folder IN ITEMS "${TIMBRE_LIBTORCH_DIR}/lib" ${timbre_libtorch_cuda_dirs})
  file(GLOB found "${folder}/libgomp*.so*" "${folder}/libcudart*.so.*" "${folder}/libcupti*.so.*")
  list(APPEND timbre_libtorch_files ${found})
endforeach()
file(GLOB timbre_libtorch_licences "${TIMBRE_LIBTORCH_DIR}/../torch-*.dist-info"
     "${TIMBRE_LIBTORCH_DIR}/../nvidia_cuda_runtime-*.dist-info" "${TIMBRE_LIBTORCH_DIR}/../nvidia_cuda_cupti-*.dist-info")
