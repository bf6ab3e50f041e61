// SPDX-License-Identifier: MIT
//
// What the system says about this process's memory, from /proc/self/smaps: exact for a range of addresses, also under
// the sanitizers, whose own memory does not count.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace timbre::device {

/// Calls `visit(first, last, resident bytes)` for every mapping.
template <typename Visit>
void visit_mappings(Visit visit) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  unsigned long first = 0;
  unsigned long last = 0;
  while (std::getline(maps, line)) {
    unsigned long resident_kib = 0;
    char permission = 0;
    if (std::sscanf(line.c_str(), "Rss: %lu kB", &resident_kib) == 1) {
      visit(first, last, resident_kib * 1024);
    } else if (line[0] < 'A' || line[0] > 'Z') {
      std::sscanf(line.c_str(), "%lx-%lx %c", &first, &last, &permission);
    }
  }
}

/// Resident bytes of the mappings that overlap the range: at least those of the range, and more only where the system
/// has merged its mappings with neighbours.
inline std::uint64_t resident_bytes(const void* data, std::size_t size) {
  const auto begin = reinterpret_cast<unsigned long>(data);
  std::uint64_t total = 0;
  visit_mappings([&](unsigned long first, unsigned long last, unsigned long resident) {
    if (first < begin + size && begin < last) total += resident;
  });
  return total;
}

inline bool is_mapped(const void* data) {
  const auto address = reinterpret_cast<unsigned long>(data);
  bool found = false;
  visit_mappings([&](unsigned long first, unsigned long last, unsigned long) {
    found = found || (first <= address && address < last);
  });
  return found;
}

}  // namespace timbre::device
