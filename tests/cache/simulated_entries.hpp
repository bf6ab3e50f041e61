// SPDX-License-Identifier: MIT
//
// A cache without values, for policies alone: entries are rows of plain vectors, the index is a hash map. It keeps the
// contract of PolicyEntries to the letter: the tick is the number of misses, a hit leaves a use and the tick.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timbre/cache/hit_sampler.hpp"
#include "timbre/cache/make_policy.hpp"
#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// What the policies see. Members are open: tests set up what they need.
class SimulatedEntries final : public PolicyEntries {
 public:
  struct Entry {
    PolicyNode node;
    std::uint32_t uses = 0;
    std::uint32_t last_tick = 0;
    std::uint32_t tag = 0;
    std::uint64_t weight = 1;
  };
  std::vector<Entry> entries;
  std::uint32_t tick = 0;

  PolicyNode& node(EntryNumber entry) override { return entries[entry].node; }
  std::uint32_t take_uses(EntryNumber entry) override { return std::exchange(entries[entry].uses, 0); }
  [[nodiscard]] std::uint32_t last_tick(EntryNumber entry) const override { return entries[entry].last_tick; }
  [[nodiscard]] std::uint32_t tag(EntryNumber entry) const override { return entries[entry].tag; }
  [[nodiscard]] std::uint64_t weight(EntryNumber entry) const override { return entries[entry].weight; }
  [[nodiscard]] std::uint32_t now() const override { return tick; }

  void use(EntryNumber entry) {
    ++entries[entry].uses;
    entries[entry].last_tick = tick;
  }
};

/// 32 well spread bits of a key, as the hash of an id would give.
constexpr std::uint32_t tag_of(std::uint64_t key) {
  key = (key ^ (key >> 30U)) * 0xBF58476D1CE4E5B9U;
  key = (key ^ (key >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>(key >> 32U);
}

/// Requests of one pool under one policy.
class SimulatedCache {
 public:
  /// @param largest  what weighs more is never taken in; the capacity where that is less.
  SimulatedCache(PolicyKind kind, std::uint64_t capacity,
                 std::uint64_t largest = std::numeric_limits<std::uint64_t>::max())
      : policy_(make_policy(kind, entries_)), capacity_(capacity), largest_(std::min(largest, capacity)) {
    policy_->set_capacity(capacity);
  }

  /// Whether the key was there; if not, it is now, unless it is too large.
  bool request(std::uint64_t key, std::uint64_t weight = 1) {
    const auto found = index_.find(key);
    if (found != index_.end()) {
      entries_.use(found->second);
      if (HitSampler* sampler = policy_->sampler()) sampler->record(entries_.entries[found->second].tag);
      return true;
    }
    ++entries_.tick;
    if (weight > largest_) return false;
    while (held_ + weight > capacity_) evict();
    insert(key, weight);
    return false;
  }

  [[nodiscard]] const Policy& policy() const { return *policy_; }
  [[nodiscard]] std::size_t size() const { return index_.size(); }

 private:
  void evict() {
    const EntryNumber victim = policy_->next_victim();
    policy_->evict(victim);
    held_ -= entries_.entries[victim].weight;
    index_.erase(keys_[victim]);
    free_.push_back(victim);
  }

  void insert(std::uint64_t key, std::uint64_t weight) {
    if (free_.empty()) {
      free_.push_back(static_cast<EntryNumber>(entries_.entries.size()));
      entries_.entries.emplace_back();
      keys_.emplace_back();
    }
    const EntryNumber entry = free_.back();
    free_.pop_back();
    entries_.entries[entry] = {{}, 0, entries_.tick, tag_of(key), weight};
    keys_[entry] = key;
    held_ += weight;
    index_.emplace(key, entry);
    policy_->insert(entry, Admission::kDemand);
  }

  SimulatedEntries entries_;
  std::unique_ptr<Policy> policy_;
  std::unordered_map<std::uint64_t, EntryNumber> index_;
  std::vector<std::uint64_t> keys_;
  std::vector<EntryNumber> free_;
  std::uint64_t capacity_;
  std::uint64_t largest_;
  std::uint64_t held_ = 0;
};

/// Hits among requests, and the bytes of each.
struct HitRate {
  std::uint64_t requests = 0;
  std::uint64_t hits = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hit_bytes = 0;

  void count(bool hit, std::uint64_t weight) {
    ++requests;
    bytes += weight;
    if (!hit) return;
    ++hits;
    hit_bytes += weight;
  }
  [[nodiscard]] double percent() const { return 100.0 * static_cast<double>(hits) / static_cast<double>(requests); }
  [[nodiscard]] double byte_percent() const {
    return 100.0 * static_cast<double>(hit_bytes) / static_cast<double>(bytes);
  }
};

}  // namespace timbre::cache
