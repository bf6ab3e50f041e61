// SPDX-License-Identifier: MIT
//
// What figures of speed are quoted with, in the words of timbre_model_info.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace timbre::bench {

/// "amx", "avx512-bf16", "avx512", "avx2" or "default".
inline const char* instruction_set() {
#if defined(__x86_64__)
  const auto has = [](unsigned leaf, unsigned part, unsigned bit) {
    unsigned registers[4] = {};
    return __get_cpuid_count(leaf, part, &registers[0], &registers[1], &registers[2], &registers[3]) != 0 &&
           (registers[part == 0 ? 3 : 0] >> bit & 1U) != 0;
  };
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;  // and the system saves its registers
  if (avx512 && has(7, 0, 22)) return "amx";                   // edx of leaf 7.0
  if (avx512 && has(7, 1, 5)) return "avx512-bf16";            // eax of leaf 7.1
  if (avx512) return "avx512";
  if (__builtin_cpu_supports("avx2") != 0) return "avx2";
#endif
  return "default";
}

}  // namespace timbre::bench
