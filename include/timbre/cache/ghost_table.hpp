// SPDX-License-Identifier: MIT
//
// GhostTable: which tags were evicted lately, for 4 bytes each.
//
// A set-associative table: a tag's mixed bits choose a set (one cache line, 16 slots) and a fingerprint of 16 bits;
// beside it lies the time of 16 bits. Time goes in buckets of about 1/256 of the capacity; a ring of buckets knows how
// much each still remembers, so that the oldest bucket is forgotten exactly when the sum would exceed the capacity, as
// in a queue.
//
// It errs a little: a full set forgets its oldest tag early (4 % of the tags, the oldest ones), and a strange tag is
// taken for a remembered one with a probability below 16 / 65536.
//
// When the table must be larger, the old one stays for look-ups until the new one has seen a whole window.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "timbre/device/host_pages.hpp"

namespace timbre::cache {

class GhostTable {
 public:
  /// Sum of the weights that are remembered.
  void set_capacity(std::uint64_t weight) {
    capacity_ = weight;
    bucket_weight_ = std::max<std::uint64_t>(1, (weight + kBucketsInWindow - 1) / kBucketsInWindow);
    forget_old(0);
  }

  /// Remembers a tag as evicted now. `expected` is how many tags the capacity will hold; the table is sized for it, or
  /// for what it has seen if that is more. Without memory for the table, nothing is remembered.
  void remember(std::uint32_t tag, std::uint64_t weight, std::uint64_t expected) {
    if (weight > capacity_) return;
    forget(tag);
    if (bucket(time_).weight >= bucket_weight_) advance();
    forget_old(weight);
    if (!fit(std::max<std::uint64_t>(expected, keys_ + 1))) return;
    const std::uint32_t mixed = mix(tag);
    Slot& slot = *oldest_slot(set_of(table_, mixed));
    if (live(slot)) drop(slot);
    slot = Slot{static_cast<std::uint16_t>(mixed), time_};
    bucket(time_).weight += weight;
    ++bucket(time_).keys;
    weight_ += weight;
    ++keys_;
  }

  /// Whether the tag is remembered; it is no more then.
  bool forget(std::uint32_t tag) {
    const std::uint32_t mixed = mix(tag);
    return forget_in(table_, mixed) || forget_in(previous_, mixed);
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return table_.memory.size() + previous_.memory.size() + sizeof(*this);
  }

 private:
  static constexpr std::uint32_t kWays = 16;
  static constexpr std::uint32_t kBuckets = 512;
  static constexpr std::uint32_t kBucketsInWindow = 256;

  struct Slot {
    std::uint16_t fingerprint = 0;
    std::uint16_t time = 0;
  };
  struct alignas(64) Set {
    std::array<Slot, kWays> slots;
  };
  struct Bucket {
    std::uint64_t weight = 0;
    std::uint32_t keys = 0;
  };
  /// Memory of its own from the system, so that an outgrown table really goes back.
  struct Table {
    device::HostPages memory;
    std::span<Set> sets;
  };

  /// Spreads a tag over 32 bits, without loss.
  static std::uint32_t mix(std::uint32_t tag) {
    tag = (tag ^ (tag >> 16U)) * 0x7FEB352DU;
    tag = (tag ^ (tag >> 15U)) * 0x846CA68BU;
    return tag ^ (tag >> 16U);
  }
  static Set& set_of(Table& table, std::uint32_t mixed) {
    return table.sets[static_cast<std::size_t>((std::uint64_t{mixed} * table.sets.size()) >> 32U)];
  }
  Bucket& bucket(std::uint16_t time) { return buckets_[time % kBuckets]; }
  [[nodiscard]] std::uint16_t age(const Slot& slot) const { return static_cast<std::uint16_t>(time_ - slot.time); }
  [[nodiscard]] bool live(const Slot& slot) const { return age(slot) < window_; }

  Slot* oldest_slot(Set& set) {
    return &*std::max_element(set.slots.begin(), set.slots.end(),
                              [this](const Slot& a, const Slot& b) { return age(a) < age(b); });
  }

  bool forget_in(Table& table, std::uint32_t mixed) {
    if (table.sets.empty()) return false;
    for (Slot& slot : set_of(table, mixed).slots) {
      if (slot.fingerprint != static_cast<std::uint16_t>(mixed) || !live(slot)) continue;
      drop(slot);
      return true;
    }
    return false;
  }

  /// Takes a live slot out. What it weighed is not known: the mean of its bucket.
  void drop(Slot& slot) {
    Bucket& from = bucket(slot.time);
    if (from.keys != 0) {
      const std::uint64_t weight = from.weight / from.keys;
      from.weight -= weight;
      weight_ -= weight;
      --from.keys;
      --keys_;
    }
    slot.time = static_cast<std::uint16_t>(time_ - kBuckets);
  }

  /// Forgets the oldest buckets until there is room for `weight`. The present one stays.
  void forget_old(std::uint64_t weight) {
    while (window_ > 1 && weight_ + weight > capacity_) forget_bucket();
  }
  void forget_bucket() {
    Bucket& oldest = bucket(static_cast<std::uint16_t>(time_ - (window_ - 1)));
    weight_ -= oldest.weight;
    keys_ -= oldest.keys;
    oldest = Bucket{};
    --window_;
  }

  void advance() {
    if (window_ == kBuckets) forget_bucket();
    ++time_;
    ++window_;
    if (!previous_.sets.empty() && static_cast<std::uint16_t>(time_ - grown_at_) >= window_) previous_ = {};
  }

  /// Makes a table for `keys` tags if the present one is too small or far too large. False without any table.
  bool fit(std::uint64_t keys) {
    const std::uint64_t sets = (keys * 20 + 17 * kWays - 1) / (17 * kWays);  // 85 % full
    const std::uint64_t have = table_.sets.size();
    if (sets <= have + have / 8 && sets * 4 >= have) return have != 0;
    Table larger = make(have == 0 || sets < have ? sets : std::max(sets, have + have / 4));
    if (larger.sets.empty()) return have != 0;
    for (Set& set : larger.sets) set.slots.fill(Slot{0, static_cast<std::uint16_t>(time_ - kBuckets)});
    previous_ = std::exchange(table_, std::move(larger));
    grown_at_ = time_;
    return true;
  }

  /// Without memory: no sets.
  static Table make(std::uint64_t set_count) {
    Result<device::HostPages> memory = device::HostPages::reserve(set_count * sizeof(Set));
    if (!memory || !memory->commit(0, memory->size())) return {};
    const std::span<Set> sets(static_cast<Set*>(memory->data()), set_count);
    for (Set& set : sets) std::construct_at(&set);
    return {std::move(*memory), sets};
  }

  std::uint64_t capacity_ = 0;
  std::uint64_t bucket_weight_ = 1;
  std::uint64_t weight_ = 0;  // of all live slots
  std::uint64_t keys_ = 0;    // live slots
  std::uint16_t time_ = 0;    // number of the present bucket
  std::uint16_t window_ = 1;  // buckets that are remembered, the present one included
  std::uint16_t grown_at_ = 0;
  std::array<Bucket, kBuckets> buckets_{};
  Table table_;
  Table previous_;
};

}  // namespace timbre::cache
