// SPDX-License-Identifier: MIT
#include "bank/system_memory.hpp"

#include <cstdint>

#include "bank/control_groups.hpp"
#include "bank/kernel_file.hpp"

namespace timbre::bank {
namespace {

/// A line of meminfo, which counts in KiB and says "kB".
Result<std::uint64_t> bytes_of(const std::string& path, const std::string& text, const char* key) {
  std::uint64_t kib = 0;
  if (!read_number(line_of(text, key), kib)) {
    return Error{Status::kFormat, path + ": no number for '" + key + "'"};
  }
  return kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
}

}  // namespace

Result<device::MemoryReading> SystemMemory::read() {
  const std::string path = folders_.proc + "/meminfo";
  const Result<std::string> text = read_kernel_file(path);
  if (!text) return text.error();
  const Result<std::uint64_t> total = bytes_of(path, *text, "MemTotal");
  if (!total) return total.error();
  const Result<std::uint64_t> available = bytes_of(path, *text, "MemAvailable");
  if (!available) return available.error();
  return limit_by_control_groups({*available, *total}, folders_.proc, folders_.cgroup);
}

}  // namespace timbre::bank
