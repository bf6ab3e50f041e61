// SPDX-License-Identifier: MIT
#include "capi/instruction_set.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace timbre::capi {

const char* instruction_set() {
#if defined(__x86_64__)
  // The compiler's check covers what the system must save; cpuid leaf 7 tells of bf16 (AMX: edx 22, AVX-512: 1, eax 5).
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (avx512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (1U << 22U)) != 0) return "amx";
  if (avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1U << 5U)) != 0) return "avx512-bf16";
  if (avx512) return "avx512";
  if (__builtin_cpu_supports("avx2") != 0) return "avx2";
#endif
  return "default";
}

}  // namespace timbre::capi
