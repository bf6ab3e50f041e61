// SPDX-License-Identifier: MIT
//
// SystemMemory: RAM as this process may use it: what the machine has available, within what its control groups allow.
// For the host tier, and for the only tier where the device is the CPU.
#pragma once

#include <string>

#include "bank/memory_provider.hpp"

namespace timbre::bank {

/// Thread safety: all members may be called from any thread.
class SystemMemory final : public MemoryProvider {
 public:
  /// Where the kernel tells; tests make folders of their own.
  struct Folders {
    std::string proc = "/proc";
    std::string cgroup = "/sys/fs/cgroup";
  };

  SystemMemory() = default;
  explicit SystemMemory(Folders folders) : folders_(std::move(folders)) {}

  /// Total is MemTotal and free is MemAvailable of meminfo, both within the control groups' limits. Errors:
  /// kUnsupported on other systems than Linux; kNotFound, kIo, kFormat, naming the file.
  [[nodiscard]] Result<device::MemoryReading> read() override;

 private:
  Folders folders_;
};

}  // namespace timbre::bank
