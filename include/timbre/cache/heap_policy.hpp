// SPDX-License-Identifier: MIT
//
// HeapPolicy: a Policy made of a LazyHeap and the rule of its keys. What lru.hpp, lfu.hpp and gdsf.hpp share.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "timbre/cache/entry_queue.hpp"
#include "timbre/cache/lazy_heap.hpp"
#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// @tparam Rule  as LazyHeap wants it, and with `void set_capacity(std::uint64_t weight)`.
template <class Rule>
class HeapPolicy : public Policy {
 public:
  void set_capacity(std::uint64_t weight) override { heap_.rule().set_capacity(weight); }
  void insert(EntryNumber entry, Admission admission) override {
    NodeBits(entries_.node(entry)).reset(admission == Admission::kQuiet);
    heap_.insert(entry, admission);
  }
  void erase(EntryNumber entry) override { heap_.erase(entry); }
  [[nodiscard]] EntryNumber next_victim() override { return heap_.next_victim(); }
  void evict(EntryNumber entry) override { heap_.evict(entry); }
  void pass_over(EntryNumber entry) override { heap_.pass_over(entry); }
  void walk(const std::function<bool(EntryNumber)>& visit) override { heap_.walk(visit); }
  [[nodiscard]] std::uint64_t overhead_bytes() const override { return heap_.memory_bytes(); }

 protected:
  HeapPolicy(PolicyEntries& entries, Rule rule) : entries_(entries), heap_(entries, std::move(rule)) {}

  PolicyEntries& entries_;
  LazyHeap<Rule> heap_;
};

}  // namespace timbre::cache
