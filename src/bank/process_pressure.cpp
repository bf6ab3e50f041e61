// SPDX-License-Identifier: MIT
#include "bank/process_pressure.hpp"

#include <algorithm>
#include <string_view>

#include "bank/kernel_file.hpp"
#include "timbre/device/host_pages.hpp"

namespace timbre::bank {

Result<std::uint64_t> resident_bytes_of(std::int64_t process, const std::string& proc_folder) {
  const std::string path = proc_folder + "/" + std::to_string(process) + "/statm";
  const Result<std::string> text = read_kernel_file(path);
  if (!text) return text.error();
  // "size resident shared ...", in pages.
  const std::size_t second = text->find(' ');
  std::uint64_t pages = 0;
  if (second == std::string::npos || !read_number(std::string_view(*text).substr(second), pages)) {
    return Error{Status::kFormat, path + ": expected numbers of pages, found '" + first_line(*text) + "'"};
  }
  const std::uint64_t page_bytes = device::HostPages::page_bytes();
  return pages > UINT64_MAX / page_bytes ? UINT64_MAX : pages * page_bytes;
}

Result<device::MemoryReading> ProcessPressure::read() {
  std::uint64_t free = total_bytes_;
  for (const std::int64_t process : processes_) {
    const Result<std::uint64_t> resident = resident_bytes_of(process, proc_folder_);
    if (!resident && resident.error().status == Status::kNotFound) continue;
    if (!resident) return resident.error();
    free -= std::min(free, *resident);
  }
  return device::MemoryReading{free, total_bytes_};
}

}  // namespace timbre::bank
