// SPDX-License-Identifier: MIT
//
// ProcessPressure: a memory that does not exist, with real processes in it: so many bytes, less what the processes have
// resident. With it a second process that really takes and returns memory can be watched on any machine. A double that
// is shipped for the tests of others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bank/memory_provider.hpp"

namespace timbre::bank {

/// The resident bytes of a process, from its statm. Errors: kNotFound (there is no such process), kUnsupported on other
/// systems than Linux, kIo, kFormat.
[[nodiscard]] Result<std::uint64_t> resident_bytes_of(std::int64_t process, const std::string& proc_folder = "/proc");

/// Thread safety: all members may be called from any thread.
class ProcessPressure final : public MemoryProvider {
 public:
  /// @param processes  by number; with the caller's own among them the reading is as a real memory's, where what the
  ///                   cache holds is not free.
  ProcessPressure(std::uint64_t total_bytes, std::vector<std::int64_t> processes, std::string proc_folder = "/proc")
      : total_bytes_(total_bytes), processes_(std::move(processes)), proc_folder_(std::move(proc_folder)) {}

  /// Free is the total less what the processes have resident, or 0. A process that has ended has nothing. Errors: those
  /// of resident_bytes_of() but kNotFound.
  [[nodiscard]] Result<device::MemoryReading> read() override;

 private:
  const std::uint64_t total_bytes_;
  const std::vector<std::int64_t> processes_;
  const std::string proc_folder_;
};

}  // namespace timbre::bank
