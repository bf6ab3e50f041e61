// SPDX-License-Identifier: MIT
//
// How often this process has called the allocator and taken a lock, libraries included: call_count.cpp puts its own
// functions before those of the C library. Only Linux with glibc.
#pragma once

#include <cstdint>

namespace timbre::bench {

struct CallCount {
  std::uint64_t allocations = 0;  ///< malloc and its kin; operator new calls it
  std::uint64_t locks = 0;        ///< of mutexes, read-write locks and spin locks, tries included

  friend CallCount operator-(const CallCount& a, const CallCount& b) {
    return {a.allocations - b.allocations, a.locks - b.locks};
  }
};

/// Calls of all threads so far.
[[nodiscard]] CallCount call_count();

}  // namespace timbre::bench
