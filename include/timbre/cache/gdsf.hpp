// SPDX-License-Identifier: MIT
//
// GDSF (greedy dual, size, frequency; Cherkasova 1998): for one pool of entries of very different sizes.
//
// Key = L + uses x cost / bytes. L, the inflation, is the key of the last victim, so that entries that are used no more
// are overtaken. The cost of a miss is what the owner says: a fixed part (then it counts hits), a part per byte (then
// it counts hit bytes), or both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "timbre/cache/heap_policy.hpp"

namespace timbre::cache {

/// What it costs to load an entry, in any unit.
struct LoadCost {
  double fixed = 1.0;
  double per_byte = 0.0;
};

class GdsfRule {
 public:
  using Key = double;

  GdsfRule(PolicyEntries& entries, LoadCost cost) : entries_(&entries), cost_(cost) {}

  static bool before(Key a, Key b) { return a < b; }

  void set_capacity(std::uint64_t /*weight*/) {}

  Key admit(EntryNumber entry, Admission admission, const KeyedEntry<Key>* /*coldest*/) {
    uses(entry) = admission == Admission::kQuiet ? 0 : 1;
    return key_of(entry);
  }
  bool renew(EntryNumber entry, Key& key) {
    const std::uint32_t more = entries_->take_uses(entry);
    if (more == 0) return false;
    add(entry, more);
    key = std::max(key, key_of(entry));
    return true;
  }
  Key touched(EntryNumber entry, Key key) {
    add(entry, 1);
    return std::max(key, key_of(entry));
  }
  void evicted(EntryNumber /*entry*/, Key key) { inflation_ = std::max(inflation_, key); }
  void removed(EntryNumber /*entry*/) {}

  // Far below where a double would lose the part that uses / bytes adds.
  [[nodiscard]] bool rebase_due() const { return inflation_ > 0x1p20 * (cost_.fixed + cost_.per_byte); }
  void begin_rebase() {
    shift_ = inflation_;
    inflation_ = 0;
  }
  Key rebased(EntryNumber /*entry*/, Key key) { return key - shift_; }

 private:
  std::uint32_t& uses(EntryNumber entry) { return entries_->node(entry).b; }
  void add(EntryNumber entry, std::uint32_t more) {
    std::uint32_t& count = uses(entry);
    count += std::min(more, std::numeric_limits<std::uint32_t>::max() - count);
  }
  Key key_of(EntryNumber entry) {
    const double cost_per_byte = cost_.fixed / static_cast<double>(entries_->weight(entry)) + cost_.per_byte;
    return inflation_ + uses(entry) * cost_per_byte;
  }

  PolicyEntries* entries_;
  LoadCost cost_;
  double inflation_ = 0;
  double shift_ = 0;
};

class Gdsf final : public HeapPolicy<GdsfRule> {
 public:
  explicit Gdsf(PolicyEntries& entries, LoadCost cost = {}) : HeapPolicy(entries, GdsfRule(entries, cost)) {}
};

}  // namespace timbre::cache
