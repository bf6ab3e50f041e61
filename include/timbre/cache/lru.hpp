// SPDX-License-Identifier: MIT
//
// LRU by ticks: the entry goes whose last use is the longest ago, counted in misses.
//
// Uses between two misses share a tick and are not told apart; on real traces that moves the hit rate by hundredths of
// a point. A quiet entry is colder than the coldest other one until it is used, and as cold as another quiet one.
//
// Ticks are 32 bits and wrap. Keys are compared by their difference, which holds while all of them lie within 2^31;
// every 2^29 ticks keys older than 2^30 ticks are moved up to that age, and their entries are quiet again.
#pragma once

#include <cstdint>

#include "timbre/cache/heap_policy.hpp"

namespace timbre::cache {

/// How plain LRU learns whether a quiet entry was used: `auto` has another owner of the counts.
class TakenUses {
 public:
  explicit TakenUses(PolicyEntries& entries) : entries_(&entries) {}
  bool used(EntryNumber entry) const { return entries_->take_uses(entry) != 0; }

 private:
  PolicyEntries* entries_;
};

/// @tparam Uses  has `bool used(EntryNumber)`: whether the entry was used since it came in; asked for quiet ones only.
template <class Uses>
class LruRule {
 public:
  using Key = std::uint32_t;

  LruRule(PolicyEntries& entries, Uses uses) : entries_(&entries), uses_(uses), based_at_(entries.now()) {}

  static bool before(Key a, Key b) { return static_cast<std::int32_t>(a - b) < 0; }

  void set_capacity(std::uint64_t /*weight*/) {}

  Key admit(EntryNumber /*entry*/, Admission admission, const KeyedEntry<Key>* coldest) {
    if (admission == Admission::kDemand || coldest == nullptr) return entries_->now();
    return NodeBits(entries_->node(coldest->entry)).quiet() ? coldest->key : coldest->key - 1;
  }

  bool renew(EntryNumber entry, Key& key) {
    NodeBits bits(entries_->node(entry));
    if (bits.quiet()) {
      if (!uses_.used(entry)) return false;
      bits.clear_quiet();
    }
    const Key last = entries_->last_tick(entry);
    if (!before(key, last)) return false;
    key = last;
    return true;
  }

  Key touched(EntryNumber entry, Key /*key*/) {
    NodeBits(entries_->node(entry)).clear_quiet();
    return entries_->now();
  }
  void evicted(EntryNumber /*entry*/, Key /*key*/) {}
  void removed(EntryNumber /*entry*/) {}

  [[nodiscard]] bool rebase_due() const { return entries_->now() - based_at_ >= kRebaseTicks; }
  void begin_rebase() { based_at_ = entries_->now(); }
  Key rebased(EntryNumber entry, Key key) {
    renew(entry, key);
    const Key oldest = based_at_ - kOldestTicks;
    if (!before(key, oldest)) return key;
    // Its last tick will soon look like a recent one: from now on its uses tell, as those of a quiet entry do.
    static_cast<void>(uses_.used(entry));
    NodeBits(entries_->node(entry)).set_quiet();
    return oldest;
  }

 private:
  static constexpr std::uint32_t kRebaseTicks = 1U << 29U;
  static constexpr std::uint32_t kOldestTicks = 1U << 30U;

  PolicyEntries* entries_;
  Uses uses_;
  Key based_at_;
};

class Lru final : public HeapPolicy<LruRule<TakenUses>> {
 public:
  explicit Lru(PolicyEntries& entries) : HeapPolicy(entries, LruRule<TakenUses>(entries, TakenUses(entries))) {}
};

}  // namespace timbre::cache
