// SPDX-License-Identifier: MIT
//
// What speech cost this process: seconds of wall time and of CPU time.
#pragma once

#include <sys/resource.h>

#include <chrono>

namespace timbre::bench {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Of all threads, in user and kernel mode, since the process began.
inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace timbre::bench
