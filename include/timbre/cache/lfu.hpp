// SPDX-License-Identifier: MIT
//
// LFU with ageing: a use is worth half as much after 10 x capacity further requests.
//
// Nothing is ever halved: instead a use now is worth more than a use before, so keys only grow (forward decay). A use
// is worth scale x (1 + f): scale doubles with each period of 10 x capacity requests, f runs from 0 to 1 within it. So
// of two entries with as many uses the one used earlier goes first. Before a float overflows, all keys are divided by
// 2^64.
//
// A policy does not see hits. It counts them as it takes the uses of entries: of those that are about to go, and with
// each insert of one other, in turn, so that the entries that never come near to going are counted as well.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "timbre/cache/entry_queue.hpp"
#include "timbre/cache/heap_policy.hpp"

namespace timbre::cache {

class LfuRule {
 public:
  using Key = float;

  explicit LfuRule(PolicyEntries& entries) : entries_(&entries) {}

  static bool before(Key a, Key b) { return a < b; }

  void set_capacity(std::uint64_t weight) { capacity_ = weight; }

  Key admit(EntryNumber entry, Admission admission, const KeyedEntry<Key>* /*coldest*/) {
    held_weight_ += entries_->weight(entry);
    ++held_;
    if (admission == Admission::kDemand) ++requests_;
    advance();
    return admission == Admission::kDemand ? worth_ : 0.0F;
  }

  bool renew(EntryNumber entry, Key& key) {
    const std::uint32_t uses = entries_->take_uses(entry);
    if (uses == 0) return false;
    requests_ += uses;
    key = std::min(key + static_cast<float>(uses) * worth_, kLargest);
    return true;
  }

  Key touched(EntryNumber /*entry*/, Key key) { return std::min(key + worth_, kLargest); }
  void evicted(EntryNumber /*entry*/, Key /*key*/) {}
  void removed(EntryNumber entry) {
    held_weight_ -= entries_->weight(entry);
    --held_;
  }

  [[nodiscard]] bool rebase_due() const { return scale_ >= kRebaseScale; }
  void begin_rebase() {
    scale_ /= kRebaseScale;
    worth_ /= kRebaseScale;
  }
  Key rebased(EntryNumber /*entry*/, Key key) { return key / kRebaseScale; }

 private:
  static constexpr float kRebaseScale = 0x1p64F;
  static constexpr float kLargest = 0x1p126F;
  static constexpr std::uint64_t kPeriodCapacities = 10;

  /// Gives a use its worth after the requests counted so far, at each insert: one search sees one worth.
  void advance() {
    // Requests in which a use loses half its worth: 10 for each entry that the capacity holds, at the mean weight.
    const double entries = static_cast<double>(capacity_) * held_ / static_cast<double>(held_weight_);
    const auto period = static_cast<std::uint64_t>(std::clamp(entries, 1.0, 0x1p32)) * kPeriodCapacities;
    // One insert moves the scale by at most 2^32, and no further than where every key is finite until the next rebase.
    const auto periods = static_cast<int>(std::min<std::uint64_t>(requests_ / period, 32));
    requests_ %= period;
    scale_ = std::min(std::ldexp(scale_, periods), 0x1p96F);
    worth_ = scale_ * (1.0F + static_cast<float>(requests_) / static_cast<float>(period));
  }

  PolicyEntries* entries_;
  std::uint64_t capacity_ = 0;
  std::uint64_t held_weight_ = 0;
  std::uint32_t held_ = 0;
  std::uint64_t requests_ = 0;  // in this period
  float scale_ = 1.0F;
  float worth_ = 1.0F;  // of a use now
};

class Lfu final : public HeapPolicy<LfuRule> {
 public:
  explicit Lfu(PolicyEntries& entries) : HeapPolicy(entries, LfuRule(entries)), turn_(entries) {}

  void insert(EntryNumber entry, Admission admission) override {
    HeapPolicy::insert(entry, admission);
    const EntryNumber next = turn_.front();
    turn_.push_back(entry);
    if (next == kNoEntry) return;
    heap_.correct(next);
    turn_.move_to_back(next);
  }
  void erase(EntryNumber entry) override {
    turn_.remove(entry);
    HeapPolicy::erase(entry);
  }
  void evict(EntryNumber entry) override {
    turn_.remove(entry);
    HeapPolicy::evict(entry);
  }

 private:
  EntryQueue turn_;  // whose uses are taken next
};

}  // namespace timbre::cache
