// SPDX-License-Identifier: MIT
//
// MemoryProvider: who tells how much memory is free. One for each tier of the cache; the governor asks it about once a
// second, never on the path of a request.
#pragma once

#include "timbre/core/result.hpp"
#include "timbre/device/device.hpp"

namespace timbre::bank {

class MemoryProvider {
 public:
  MemoryProvider() = default;
  MemoryProvider(const MemoryProvider&) = delete;
  MemoryProvider& operator=(const MemoryProvider&) = delete;
  virtual ~MemoryProvider() = default;

  /// Free and total bytes of the whole memory, all processes together. The caller must expect what cannot be (free >
  /// total, 0): the answer is the source's own. May block for milliseconds; any thread.
  ///
  /// Errors: kUnsupported where this system will never tell; else the source's (kIo, kFormat, kNotFound), of which the
  /// next reading may know nothing.
  [[nodiscard]] virtual Result<device::MemoryReading> read() = 0;
};

/// The memory of a device, which must outlive this.
class DeviceMemory final : public MemoryProvider {
 public:
  explicit DeviceMemory(device::Device& device) : device_(device) {}
  [[nodiscard]] Result<device::MemoryReading> read() override { return device_.memory(); }

 private:
  device::Device& device_;
};

}  // namespace timbre::bank
