// SPDX-License-Identifier: MIT
//
// LfuDictionary: what a service writes that has no voice cache: so many voices under a lock, the least used one goes.
// It knows nothing of memory; who misses loads for himself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace timbre::bench {

/// Thread safety: all members from any thread.
class LfuDictionary {
 public:
  using Value = std::shared_ptr<const std::vector<std::byte>>;

  explicit LfuDictionary(std::size_t capacity) : capacity_(capacity) {}

  /// The voice, or null; one more use of it.
  [[nodiscard]] Value find(std::string_view id) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(std::string(id));
    if (found == entries_.end()) return nullptr;
    ++found->second.uses;
    return found->second.value;
  }

  void put(std::string_view id, Value value) {
    const std::lock_guard lock(mutex_);
    if (!entries_.contains(std::string(id)) && entries_.size() >= capacity_) {
      const auto uses = [](const auto& a, const auto& b) { return a.second.uses < b.second.uses; };
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), uses));
    }
    entries_[std::string(id)] = {std::move(value), 1};
  }

  [[nodiscard]] std::size_t size() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    Value value;
    std::uint64_t uses = 0;
  };

  std::size_t capacity_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace timbre::bench
