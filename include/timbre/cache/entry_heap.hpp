// SPDX-License-Identifier: MIT
//
// EntryHeap: entries ordered by a key, the least first; each entry knows its place (word `c` of its PolicyNode).
//
// Eight children share a cache line, so that a million entries are seven lines deep. Entries of equal keys are ordered
// by number: the order is total, and a plain model finds the same one.
//
// Entries can be parked: they stay members, but top() does not see them until unpark_all(). They lie behind the heap in
// the same array, so that parking takes no memory.
//
// Invariants
//   * slots_[kShift, kShift + active_) is a heap, what follows is parked; node(e).c is the place of every member e.
//   * 8 bytes per entry for a key of 4 bytes, and at most two pages more.
#pragma once

#include <cstdint>

#include "timbre/cache/paged_array.hpp"
#include "timbre/cache/policy.hpp"

namespace timbre::cache {

template <class Key>
struct KeyedEntry {
  Key key;
  EntryNumber entry;
};

/// @tparam Order  has `using Key` and `static bool before(Key, Key)`, a strict weak order.
template <class Order>
class EntryHeap {
 public:
  using Key = typename Order::Key;
  using Slot = KeyedEntry<Key>;

  explicit EntryHeap(PolicyEntries& entries) : entries_(entries) {}

  [[nodiscard]] std::uint32_t size() const { return slots_.size() == 0 ? 0 : slots_.size() - kShift; }
  /// Whether every member is parked.
  [[nodiscard]] bool none_active() const { return active_ == 0; }
  [[nodiscard]] const Slot& top() const { return slots_[kShift]; }
  [[nodiscard]] Key key(EntryNumber entry) const { return at(place(entry)).key; }

  /// Makes sure that the next push() throws nothing. Throws std::bad_alloc, and then nothing has changed.
  void reserve_one() {
    while (slots_.size() < kShift) slots_.push_back(Slot{});
    slots_.reserve_one();
  }

  /// Takes a new member, for which there is room; unparks the others.
  void push(EntryNumber entry, Key key) {
    unpark_all();
    slots_.push_back(Slot{key, entry});
    set(active_, Slot{key, entry});
    ++active_;
    sift_up(active_ - 1);
  }

  void erase(EntryNumber entry) {
    const std::uint32_t hole = place(entry);
    const std::uint32_t last = size() - 1;
    if (hole < active_) {
      --active_;
      if (hole != active_) {
        set(hole, at(active_));
        sift(hole);
      }
      if (last != active_) set(active_, at(last));
    } else if (hole != last) {
      set(hole, at(last));
    }
    slots_.pop_back();
  }

  /// Gives a member that is not parked another key.
  void rekey(EntryNumber entry, Key key) {
    const std::uint32_t where = place(entry);
    at(where).key = key;
    sift(where);
  }

  void park(EntryNumber entry, Key key) {
    const std::uint32_t where = place(entry);
    --active_;
    if (where != active_) {
      set(where, at(active_));
      sift(where);
    }
    set(active_, Slot{key, entry});
  }

  void unpark_all() {
    while (active_ < size()) sift_up(active_++);
  }

  /// Gives every member the key that `new_key(entry, key)` returns and orders them anew: linear in their number.
  template <class NewKey>
  void rekey_all(NewKey new_key) {
    active_ = size();
    for (std::uint32_t i = 0; i < active_; ++i) at(i).key = new_key(at(i).entry, at(i).key);
    if (active_ < 2) return;
    for (std::uint32_t i = (active_ - 2) / kChildren + 1; i-- > 0;) sift_down(i);
  }

  [[nodiscard]] std::uint64_t memory_bytes() const { return slots_.memory_bytes(); }

 private:
  static constexpr std::uint32_t kChildren = 8;
  // Children of place i are the places 8 i + 1 .. 8 i + 8; with seven slots before the root they share a line.
  static constexpr std::uint32_t kShift = kChildren - 1;

  Slot& at(std::uint32_t place) { return slots_[place + kShift]; }
  const Slot& at(std::uint32_t place) const { return slots_[place + kShift]; }
  [[nodiscard]] std::uint32_t place(EntryNumber entry) const { return entries_.node(entry).c; }
  void set(std::uint32_t place, Slot slot) {
    at(place) = slot;
    entries_.node(slot.entry).c = place;
  }
  static bool before(const Slot& a, const Slot& b) {
    if (Order::before(a.key, b.key)) return true;
    return !Order::before(b.key, a.key) && a.entry < b.entry;
  }

  void sift(std::uint32_t place) {
    if (!sift_up(place)) sift_down(place);
  }

  bool sift_up(std::uint32_t place) {
    const Slot moving = at(place);
    const std::uint32_t start = place;
    while (place > 0) {
      const std::uint32_t parent = (place - 1) / kChildren;
      if (!before(moving, at(parent))) break;
      set(place, at(parent));
      place = parent;
    }
    if (place != start) set(place, moving);
    return place != start;
  }

  void sift_down(std::uint32_t place) {
    const Slot moving = at(place);
    const std::uint32_t start = place;
    for (;;) {
      const std::uint64_t first = std::uint64_t{place} * kChildren + 1;
      if (first >= active_) break;
      const auto end = static_cast<std::uint32_t>(first + kChildren < active_ ? first + kChildren : active_);
      auto least = static_cast<std::uint32_t>(first);
      for (std::uint32_t child = least + 1; child < end; ++child) {
        if (before(at(child), at(least))) least = child;
      }
      if (!before(at(least), moving)) break;
      set(place, at(least));
      place = least;
    }
    if (place != start) set(place, moving);
  }

  PolicyEntries& entries_;
  PagedArray<Slot> slots_;
  std::uint32_t active_ = 0;
};

}  // namespace timbre::cache
