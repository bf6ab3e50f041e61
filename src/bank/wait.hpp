// SPDX-License-Identifier: MIT
//
// Wait: how long one caller waits. It ends the caller's wait, never the work that others wait for too.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace timbre::bank {

using Clock = std::chrono::steady_clock;

struct Wait {
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  ///< looked at every few milliseconds; may become true at any time

  [[nodiscard]] bool is_cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_acquire); }
  [[nodiscard]] bool is_over() const { return deadline != Clock::time_point::max() && Clock::now() >= deadline; }

  /// Until when to work or to wait before looking again.
  [[nodiscard]] Clock::time_point next_look() const { return std::min(deadline, Clock::now() + kSlice); }

  static constexpr std::chrono::milliseconds kSlice{10};
};

}  // namespace timbre::bank
