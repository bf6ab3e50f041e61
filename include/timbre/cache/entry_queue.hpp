// SPDX-License-Identifier: MIT
//
// EntryQueue: a first-in first-out list of entries, linked through their PolicyNodes.
//
// Node words `a` and `b` hold a link each (29 bits, towards the front and towards the back) and three bits beside it:
//
//   a   bits 0..28 previous entry   bits 29..30 counter (0..3)   bit 31 quiet: not used since a bulk load, or for ages
//   b   bits 0..28 next entry       bits 29..30 queue number     bit 31 unused
//
// Invariants
//   * An entry is in at most one queue. Links of entries in no queue mean nothing.
//   * Queues move links only; the other bits belong to the policy. Nothing is allocated.
#pragma once

#include <cstdint>

#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// The largest number that an entry under a policy may have.
inline constexpr EntryNumber kMaxPolicyEntry = (1U << 29U) - 2;

/// The bits of a node beside its links.
class NodeBits {
 public:
  explicit NodeBits(PolicyNode& node) : node_(node) {}

  /// Links to nothing, counter 0, queue 0. The heap's word is left alone.
  void reset(bool quiet) {
    node_.a = kLinkMask | (quiet ? kQuiet : 0U);
    node_.b = kLinkMask;
  }
  [[nodiscard]] std::uint32_t counter() const { return (node_.a >> kLinkBits) & 3U; }
  void set_counter(std::uint32_t count) { node_.a = (node_.a & ~kPair) | (count << kLinkBits); }
  [[nodiscard]] bool quiet() const { return (node_.a & kQuiet) != 0; }
  void set_quiet() { node_.a |= kQuiet; }
  void clear_quiet() { node_.a &= ~kQuiet; }
  [[nodiscard]] std::uint32_t queue() const { return (node_.b >> kLinkBits) & 3U; }
  void set_queue(std::uint32_t number) { node_.b = (node_.b & ~kPair) | (number << kLinkBits); }

 private:
  friend class EntryQueue;
  static constexpr std::uint32_t kLinkBits = 29;
  static constexpr std::uint32_t kLinkMask = (1U << kLinkBits) - 1;
  static constexpr std::uint32_t kPair = 3U << kLinkBits;
  static constexpr std::uint32_t kQuiet = 1U << 31U;

  PolicyNode& node_;
};

/// Entries in order of arrival. One lock guards it, the cache's miss lock.
class EntryQueue {
 public:
  explicit EntryQueue(PolicyEntries& entries) : entries_(entries) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// The entry that came first, or kNoEntry.
  [[nodiscard]] EntryNumber front() const { return entry_of(front_); }
  /// The entry behind `entry`, or kNoEntry.
  [[nodiscard]] EntryNumber after(EntryNumber entry) const { return entry_of(entries_.node(entry).b); }

  void push_back(EntryNumber entry) {
    PolicyNode& node = entries_.node(entry);
    set_link(node.a, back_);
    set_link(node.b, NodeBits::kLinkMask);
    if (size_ == 0) {
      front_ = entry;
    } else {
      set_link(entries_.node(back_).b, entry);
    }
    back_ = entry;
    ++size_;
  }

  void remove(EntryNumber entry) {
    const PolicyNode& node = entries_.node(entry);
    const std::uint32_t previous = node.a & NodeBits::kLinkMask;
    const std::uint32_t next = node.b & NodeBits::kLinkMask;
    if (previous == NodeBits::kLinkMask) {
      front_ = next;
    } else {
      set_link(entries_.node(previous).b, next);
    }
    if (next == NodeBits::kLinkMask) {
      back_ = previous;
    } else {
      set_link(entries_.node(next).a, previous);
    }
    --size_;
  }

  void move_to_back(EntryNumber entry) {
    if (entry == back_) return;
    remove(entry);
    push_back(entry);
  }

 private:
  static EntryNumber entry_of(std::uint32_t word) {
    const std::uint32_t link = word & NodeBits::kLinkMask;
    return link == NodeBits::kLinkMask ? kNoEntry : link;
  }
  static void set_link(std::uint32_t& word, std::uint32_t link) { word = (word & ~NodeBits::kLinkMask) | link; }

  PolicyEntries& entries_;
  std::uint32_t front_ = NodeBits::kLinkMask;
  std::uint32_t back_ = NodeBits::kLinkMask;
  std::uint32_t size_ = 0;
};

}  // namespace timbre::cache
