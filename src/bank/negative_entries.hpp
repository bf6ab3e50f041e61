// SPDX-License-Identifier: MIT
//
// NegativeEntries: ids that the store was found not to have, a moment ago.
//
// Invariants
//   * An entry holds for one lifetime and no longer; of more than kMost the oldest goes.
//   * It is as current as its user makes it: written and erased under the lock under which invalidations run.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "bank/wait.hpp"

namespace timbre::bank {

/// Thread safety: none of its own.
class NegativeEntries {
 public:
  static constexpr std::size_t kMost = 256;

  void add(std::string_view id, Clock::time_point end) {
    ends_.insert_or_assign(std::string(id), end);
    order_.push_back({std::string(id), end});
    while (ends_.size() > kMost || order_.size() > 2 * kMost) drop_oldest();
  }

  void erase(std::string_view id) {
    if (const auto found = ends_.find(id); found != ends_.end()) ends_.erase(found);
  }

  void clear() {
    ends_.clear();
    order_.clear();
  }

  [[nodiscard]] bool holds(std::string_view id, Clock::time_point now) {
    while (!order_.empty() && order_.front().end <= now) drop_oldest();
    const auto found = ends_.find(id);
    return found != ends_.end() && found->second > now;
  }

  [[nodiscard]] std::size_t size() const { return ends_.size(); }

 private:
  struct Added {
    std::string id;
    Clock::time_point end;
  };

  /// Of an id that was added again or erased, the older records say nothing.
  void drop_oldest() {
    const auto found = ends_.find(order_.front().id);
    if (found != ends_.end() && found->second == order_.front().end) ends_.erase(found);
    order_.pop_front();
  }

  std::map<std::string, Clock::time_point, std::less<>> ends_;
  std::deque<Added> order_;  // as they were added; some are gone or newer by now
};

}  // namespace timbre::bank
