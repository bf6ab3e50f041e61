// SPDX-License-Identifier: MIT
//
// ShadowCache: what a small cache under some policy would have hit. It holds tags and no values.
//
// The policy's own code decides; this file only gives it entries. All weigh 1. Two ids of one tag are one entry here.
//
// Invariants
//   * index_ finds each entry in use by its tag (linear probing, at most half full).
//   * The other slots are chained from free_.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// @tparam Order  has set_capacity, insert, next_victim and evict as a Policy does, and memory_bytes().
template <class Order>
class ShadowCache final : private PolicyEntries {
 public:
  ShadowCache() : order_(static_cast<PolicyEntries&>(*this)) {}

  /// Room for `capacity` (>= 1) tags; what does not fit any more is evicted. Throws std::bad_alloc, and then nothing
  /// has changed.
  void set_capacity(std::uint32_t capacity) {
    std::vector<EntryNumber> index(std::bit_ceil(std::size_t{capacity} * 2), kNoEntry);
    slots_.reserve(capacity);
    while (count_ > capacity) evict();
    index_.swap(index);
    for (const EntryNumber entry : index) {
      if (entry != kNoEntry) index_[place_of(slots_[entry].tag)] = entry;
    }
    capacity_ = capacity;
    order_.set_capacity(capacity);
  }

  /// Asks for a tag; if it was missed, it is there afterwards. Throws std::bad_alloc, and then it is not.
  bool request(std::uint32_t tag) {
    const EntryNumber found = index_[place_of(tag)];
    if (found != kNoEntry) {
      ++slots_[found].uses;
      slots_[found].last_tick = now_;
      return true;
    }
    ++now_;
    if (count_ == capacity_) evict();
    if (free_ == kNoEntry) {
      slots_.push_back(Slot{});
      free_ = static_cast<EntryNumber>(slots_.size() - 1);
    }
    const EntryNumber next_free = slots_[free_].last_tick;
    const EntryNumber entry = free_;
    slots_[entry] = Slot{{}, tag, now_, 0};
    order_.insert(entry, Admission::kDemand);
    free_ = next_free;
    index_[place_of(tag)] = entry;
    ++count_;
    return false;
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return slots_.capacity() * sizeof(Slot) + index_.capacity() * sizeof(index_[0]) + order_.memory_bytes();
  }

 private:
  struct Slot {
    PolicyNode node;
    std::uint32_t tag = 0;
    std::uint32_t last_tick = kNoEntry;  // of a free slot: the next free one
    std::uint32_t uses = 0;
  };

  PolicyNode& node(EntryNumber entry) override { return slots_[entry].node; }
  std::uint32_t take_uses(EntryNumber entry) override { return std::exchange(slots_[entry].uses, 0); }
  [[nodiscard]] std::uint32_t last_tick(EntryNumber entry) const override { return slots_[entry].last_tick; }
  [[nodiscard]] std::uint32_t tag(EntryNumber entry) const override { return slots_[entry].tag; }
  [[nodiscard]] std::uint64_t weight(EntryNumber /*entry*/) const override { return 1; }
  [[nodiscard]] std::uint32_t now() const override { return now_; }

  [[nodiscard]] std::size_t home_of(std::uint32_t tag) const { return (tag * 0x85EBCA6BU >> 7U) & (index_.size() - 1); }
  [[nodiscard]] std::size_t after(std::size_t place) const { return (place + 1) & (index_.size() - 1); }
  /// Where the tag is in the index, or the empty place where it would be.
  [[nodiscard]] std::size_t place_of(std::uint32_t tag) const {
    std::size_t place = home_of(tag);
    while (index_[place] != kNoEntry && slots_[index_[place]].tag != tag) place = after(place);
    return place;
  }

  void evict() {
    const EntryNumber victim = order_.next_victim();
    order_.evict(victim);
    take_from_index(place_of(slots_[victim].tag));
    slots_[victim].last_tick = free_;
    free_ = victim;
    --count_;
  }

  /// Empties a place and moves up those behind it that were pushed past it.
  void take_from_index(std::size_t hole) {
    for (std::size_t place = after(hole); index_[place] != kNoEntry; place = after(place)) {
      const std::size_t home = home_of(slots_[index_[place]].tag);
      if (((place - home) & (index_.size() - 1)) < ((place - hole) & (index_.size() - 1))) continue;
      index_[hole] = index_[place];
      hole = place;
    }
    index_[hole] = kNoEntry;
  }

  std::vector<Slot> slots_;
  std::vector<EntryNumber> index_;
  EntryNumber free_ = kNoEntry;
  std::uint32_t count_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t now_ = 0;
  Order order_;  // after all that it may ask for
};

}  // namespace timbre::cache
