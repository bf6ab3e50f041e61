// SPDX-License-Identifier: MIT
//
// Flight: one load or promotion of one voice, and those who wait for it. docs/bank.md has its states.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "bank/loading.hpp"

namespace timbre::bank {

enum class FlightState : std::uint8_t {
  kOpen,    ///< on the table: who misses joins it
  kLanded,  ///< it has a lease or an error for all who wait
  kStale,   ///< overtaken by a write: who waits begins again
};

struct Flight {
  Flight(Ways& ways, std::string_view of) : id(of), work(ways, of) {}

  const std::string id;
  std::atomic<bool> is_demanded{false};  ///< false: only a prefetch wants it
  Loading work;                          ///< of the thread that has set is_worked

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex; state is changed with the table's lock held as well.
  FlightState state = FlightState::kOpen;
  bool is_worked = false;
  std::uint32_t waiter_count = 0;
  std::shared_ptr<const cache::Lease> lease;  ///< landed: this or the error
  std::optional<Error> error;
};

}  // namespace timbre::bank
