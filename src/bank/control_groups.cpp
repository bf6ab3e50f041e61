// SPDX-License-Identifier: MIT
#include "bank/control_groups.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bank/kernel_file.hpp"

namespace timbre::bank {
namespace {

/// How one version calls its files.
struct Interface {
  const char* limits[2];  // the smaller one counts
  const char* usage;
  const char* reclaimable;  // a line of memory.stat, this group and those below it
};
constexpr Interface kVersion1 = {{"memory.limit_in_bytes", nullptr}, "memory.usage_in_bytes", "total_inactive_file"};
// Above memory.high the kernel does not fail allocations, but slows the process down until it uses less.
constexpr Interface kVersion2 = {{"memory.max", "memory.high"}, "memory.current", "inactive_file"};

/// A file with one number; UINT64_MAX for "max"; nothing where there is no file (the root of version 2 has no limits).
Result<std::optional<std::uint64_t>> number_in(const std::string& path) {
  const Result<std::string> text = read_kernel_file(path);
  if (!text && text.error().status == Status::kNotFound) return std::optional<std::uint64_t>();
  if (!text) return text.error();
  std::uint64_t number = UINT64_MAX;
  if (*text != "max\n" && *text != "max" && !read_number(*text, number)) {
    return Error{Status::kFormat, path + ": expected a number of bytes or 'max', found '" + first_line(*text) + "'"};
  }
  return std::optional<std::uint64_t>(number);
}

/// Tightens the reading by one group, where it has a limit below the machine's memory.
Result<void> limit_by(device::MemoryReading& reading, std::uint64_t machine_bytes, const std::string& folder,
                      const Interface& files) {
  std::uint64_t limit = UINT64_MAX;
  for (const char* name : files.limits) {
    if (name == nullptr) continue;
    const auto told = number_in(folder + "/" + name);
    if (!told) return told.error();
    limit = std::min(limit, told->value_or(UINT64_MAX));
  }
  if (limit >= machine_bytes) return {};
  const auto usage = number_in(folder + "/" + files.usage);
  if (!usage) return usage.error();
  std::uint64_t used = usage->value_or(0);
  std::uint64_t reclaimable = 0;
  if (const Result<std::string> statistics = read_kernel_file(folder + "/memory.stat")) {
    static_cast<void>(read_number(line_of(*statistics, files.reclaimable), reclaimable));
  }
  used -= std::min(used, reclaimable);
  reading.total_bytes = std::min(reading.total_bytes, limit);
  reading.free_bytes = std::min(reading.free_bytes, limit - std::min(used, limit));
  return {};
}

/// Tightens the reading by the group of this path and all above it, `root` being the first one.
Result<void> limit_by_all(device::MemoryReading& reading, std::uint64_t machine_bytes, const std::string& root,
                          std::string path, const Interface& files) {
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    if (Result<void> done = limit_by(reading, machine_bytes, root + path, files); !done) return done;
    if (path.empty()) return {};
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::string_view name = controllers.substr(0, controllers.find(','));
    if (name == "memory") return true;
    controllers.remove_prefix(std::min(name.size() + 1, controllers.size()));
  }
  return false;
}

bool exists(const std::string& path) { return read_kernel_file(path).ok(); }

}  // namespace

Result<device::MemoryReading> limit_by_control_groups(device::MemoryReading reading, const std::string& proc_folder,
                                                      const std::string& cgroup_folder) {
  const Result<std::string> groups = read_kernel_file(proc_folder + "/self/cgroup");
  if (!groups && groups.error().status == Status::kNotFound) return reading;
  if (!groups) return groups.error();
  const std::uint64_t machine_bytes = reading.total_bytes;
  std::string_view rest = *groups;
  // Each line is "<hierarchy>:<controllers>:<path>"; version 2 has "0::".
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    Result<void> done;
    if (controllers.empty()) {
      const std::string unified = cgroup_folder + "/unified";
      done = limit_by_all(reading, machine_bytes, exists(unified + "/cgroup.controllers") ? unified : cgroup_folder,
                          path, kVersion2);
    } else if (names_memory(controllers)) {
      done = limit_by_all(reading, machine_bytes, cgroup_folder + "/memory", path, kVersion1);
    }
    if (!done) return done.error();
  }
  return reading;
}

}  // namespace timbre::bank
