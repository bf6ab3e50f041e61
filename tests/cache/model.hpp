// SPDX-License-Identifier: MIT
//
// The policies once more, in plain code that looks at every entry for every answer: no heap, no links, no laziness
// where the policy is lazy for speed alone. The policy test asks both and compares each answer.
//
// What counts as the same: ticks are misses, ties go to the lower entry number, a passed-over entry is not proposed
// again until something is evicted or inserted or all were passed over. Bounds on the effort of one search are not
// modelled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// What a model knows of an entry from the start.
struct Newcomer {
  EntryNumber entry;
  std::uint32_t tag;
  std::uint64_t weight;
  Admission admission;
};

/// A policy that is told of each use at once.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;
  virtual void set_capacity(std::uint64_t weight) = 0;
  virtual void insert(const Newcomer& newcomer, std::uint32_t tick) = 0;
  virtual void use(EntryNumber entry, std::uint32_t tick) = 0;
  virtual void erase(EntryNumber entry) = 0;
  virtual EntryNumber next_victim() = 0;
  virtual void evict(EntryNumber entry) = 0;
  virtual void pass_over(EntryNumber entry, std::uint32_t tick) = 0;
  virtual std::vector<EntryNumber> order() = 0;
};

/// Tags in order of eviction, the oldest forgotten for room: the ghost that GhostTable stands for.
class ExactGhost {
 public:
  void set_capacity(std::uint64_t weight) {
    capacity_ = weight;
    make_room(0);
  }
  void remember(std::uint32_t tag, std::uint64_t weight, std::uint64_t /*expected*/) {
    if (weight > capacity_) return;
    forget(tag);
    make_room(weight);
    tags_.emplace_back(tag, weight);
    held_ += weight;
  }
  bool forget(std::uint32_t tag) {
    const auto found = std::find_if(tags_.begin(), tags_.end(), [&](const auto& ghost) { return ghost.first == tag; });
    if (found == tags_.end()) return false;
    held_ -= found->second;
    tags_.erase(found);
    return true;
  }
  [[nodiscard]] static std::uint64_t memory_bytes() { return 0; }

 private:
  void make_room(std::uint64_t weight) {
    while (!tags_.empty() && held_ + weight > capacity_) {
      held_ -= tags_.front().second;
      tags_.pop_front();
    }
  }
  std::deque<std::pair<std::uint32_t, std::uint64_t>> tags_;
  std::uint64_t held_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace timbre::cache
