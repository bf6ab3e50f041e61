// SPDX-License-Identifier: MIT
//
// ScriptedMemory: readings as a test tells them. A double that is shipped for the tests of others.
#pragma once

#include <utility>

#include "bank/memory_provider.hpp"
#include "timbre/device/device_script.hpp"

namespace timbre::bank {

/// Thread safety: all members may be called from any thread.
class ScriptedMemory final : public MemoryProvider {
 public:
  ScriptedMemory() = default;
  explicit ScriptedMemory(const device::MemoryReading& standing) { set(standing); }

  /// What is answered from now on when no pushed answer waits (see readings()).
  void set(Result<device::MemoryReading> standing) {
    readings_.set_source([answer = std::move(standing)] { return answer; });
  }

  /// Single answers, late ones too, and functions of a test's own.
  [[nodiscard]] device::ReadingPlan& readings() { return readings_; }

  /// Error: kIo where the script says nothing.
  [[nodiscard]] Result<device::MemoryReading> read() override {
    if (auto answer = readings_.next()) return std::move(*answer);
    return Error{Status::kIo, "scripted memory: no reading was scripted"};
  }

 private:
  device::ReadingPlan readings_;
};

}  // namespace timbre::bank
