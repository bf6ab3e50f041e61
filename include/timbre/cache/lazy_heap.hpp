// SPDX-License-Identifier: MIT
//
// LazyHeap: order of eviction by a key that only grows, put right only when a victim is looked for.
//
// A hit changes the entry, not the heap, so a key in the heap is a lower bound of the true one. The least entry is
// looked at: if it was used since, it gets its true key and the search goes on, else it is the victim. Every use is
// paid for at most once, later.
//
// One search corrects at most kMaxCorrections entries: after a long time of hits alone nearly every key is stale, and a
// miss must not stall for all of them. The search then answers the coldest of those that it looked at.
//
// A Rule knows what a key is:
//   using Key; static bool before(Key, Key);
//   Key admit(EntryNumber, Admission, const KeyedEntry<Key>* coldest)   key of a new entry; coldest: null if it is
//   alone bool renew(EntryNumber, Key&)   whether it was used since, and then its true key Key touched(EntryNumber,
//   Key)   key after a use now void evicted(EntryNumber, Key); void removed(EntryNumber)   before it leaves; an evicted
//   one is removed as well bool rebase_due() const; void begin_rebase(); Key rebased(EntryNumber, Key)   all keys moved
//   down, in order
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "timbre/cache/entry_heap.hpp"
#include "timbre/cache/policy.hpp"

namespace timbre::cache {

template <class Rule>
class LazyHeap {
 public:
  using Key = typename Rule::Key;
  using Slot = KeyedEntry<Key>;
  static constexpr std::uint32_t kMaxCorrections = 256;

  LazyHeap(PolicyEntries& entries, Rule rule) : heap_(entries), rule_(std::move(rule)) {}

  Rule& rule() { return rule_; }
  [[nodiscard]] std::uint32_t size() const { return heap_.size(); }

  /// Throws std::bad_alloc, and then the entry is not in.
  void insert(EntryNumber entry, Admission admission) {
    heap_.reserve_one();
    heap_.unpark_all();
    rebase_if_due();
    // A quiet entry may want to know the coldest one, and its true key.
    if (admission == Admission::kQuiet) next_victim();
    const Slot* coldest = heap_.none_active() ? nullptr : &heap_.top();
    heap_.push(entry, rule_.admit(entry, admission, coldest));
  }

  void erase(EntryNumber entry) {
    rule_.removed(entry);
    heap_.erase(entry);
  }

  EntryNumber next_victim() {
    rebase_if_due();
    EntryNumber coldest = kNoEntry;
    Key coldest_key{};
    for (std::uint32_t corrections = 0; !heap_.none_active(); ++corrections) {
      if (corrections == kMaxCorrections) return coldest;
      const EntryNumber entry = heap_.top().entry;
      Key key = heap_.top().key;
      if (!rule_.renew(entry, key)) return entry;
      heap_.rekey(entry, key);
      if (coldest == kNoEntry || Rule::before(key, coldest_key)) {
        coldest = entry;
        coldest_key = key;
      }
    }
    heap_.unpark_all();
    return kNoEntry;
  }

  void evict(EntryNumber entry) {
    rule_.evicted(entry, heap_.key(entry));
    erase(entry);
    heap_.unpark_all();
  }

  void pass_over(EntryNumber entry) { heap_.park(entry, rule_.touched(entry, heap_.key(entry))); }

  /// Gives an entry its true key now rather than when it is the least.
  void correct(EntryNumber entry) {
    Key key = heap_.key(entry);
    if (rule_.renew(entry, key)) heap_.rekey(entry, key);
  }

  /// Linear in the number of entries, and allocates nothing: entries are parked as they are visited.
  void walk(const std::function<bool(EntryNumber)>& visit) {
    heap_.rekey_all([this](EntryNumber entry, Key key) {
      rule_.renew(entry, key);
      return key;
    });
    while (!heap_.none_active()) {
      const auto [key, entry] = heap_.top();
      if (!visit(entry)) break;
      heap_.park(entry, key);
    }
    heap_.unpark_all();
  }

  [[nodiscard]] std::uint64_t memory_bytes() const { return heap_.memory_bytes(); }

 private:
  void rebase_if_due() {
    if (!rule_.rebase_due()) return;
    rule_.begin_rebase();
    heap_.rekey_all([this](EntryNumber entry, Key key) { return rule_.rebased(entry, key); });
  }

  EntryHeap<Rule> heap_;
  Rule rule_;
};

}  // namespace timbre::cache
