// SPDX-License-Identifier: MIT
//
// S3-FIFO (Yang, Zhang, Qiu, Yue, Vigfusson: "FIFO queues are all you need for cache eviction", SOSP 2023).
//
// New entries enter the small queue, a tenth of the capacity. At its front an entry used twice or more moves to the
// main queue, another one is the victim, and its tag goes to the ghost. Who comes back while the ghost remembers him
// enters the main queue. At the front of the main queue an entry with uses goes round with one fewer (at most 3 count),
// one without is the victim. The main queue gives while it is over its nine tenths, else the small one.
//
// Uses are taken from the entry when it reaches a front: nobody reads them sooner, so nothing differs from counting
// each use at once. Sizes are sums of weights. The ghost remembers as much weight as the main queue holds.
//
// One search looks at no more than kMaxSteps entries before it takes the one at hand: a miss must not stall for a round
// of a large queue whose entries were all used.
//
// Invariants
//   * An entry is in one of three queues: small, main, parked (passed over; its weight counts where it came from).
//   * The counter in its node is the uses taken so far, at most 3, less the rounds in the main queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "timbre/cache/entry_queue.hpp"
#include "timbre/cache/ghost_table.hpp"
#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// The order of S3-FIFO, for those who keep it beside another one.
/// @tparam Ghost  remembers tags as GhostTable does.
template <class Ghost>
class S3Order {
 public:
  static constexpr std::uint32_t kMaxSteps = 4096;

  explicit S3Order(PolicyEntries& entries) : entries_(entries), small_(entries), main_(entries), parked_(entries) {}

  void set_capacity(std::uint64_t weight) {
    capacity_ = weight;
    main_capacity_ = weight - weight / 10;
    ghost_.set_capacity(main_capacity_);
  }

  void insert(EntryNumber entry, Admission admission) {
    unpark_all();
    const bool remembered = admission == Admission::kDemand && ghost_.forget(entries_.tag(entry));
    if (remembered) ++ghost_hits_;
    NodeBits(entries_.node(entry)).reset(admission == Admission::kQuiet);
    if (remembered) {
      enter_main(entry);
    } else {
      small_weight_ += entries_.weight(entry);
      NodeBits(entries_.node(entry)).set_queue(kSmall);
      small_.push_back(entry);
    }
  }

  void erase(EntryNumber entry) {
    const std::uint32_t queue = NodeBits(entries_.node(entry)).queue();
    queue_of(queue).remove(entry);
    ((queue & kMain) != 0 ? main_weight_ : small_weight_) -= entries_.weight(entry);
  }

  EntryNumber next_victim() {
    std::uint32_t steps = 0;
    while (!small_.empty() || !main_.empty()) {
      const bool main_gives = small_.empty() || (main_weight_ > main_capacity_ && !main_.empty());
      const EntryNumber found = main_gives ? sweep_main(steps) : sweep_small(steps);
      if (found != kNoEntry) return found;
    }
    unpark_all();
    return kNoEntry;
  }

  void evict(EntryNumber entry) {
    if ((NodeBits(entries_.node(entry)).queue() & kMain) == 0) {
      ghost_.remember(entries_.tag(entry), entries_.weight(entry), expected_ghosts());
    }
    erase(entry);
    unpark_all();
  }

  void pass_over(EntryNumber entry) {
    NodeBits bits(entries_.node(entry));
    queue_of(bits.queue()).remove(entry);
    bits.set_counter(std::min(bits.counter() + 1, kMostUses));
    bits.set_queue(bits.queue() | kParked);
    parked_.push_back(entry);
  }

  /// Linear in what it visits; remembers the entries that go round meanwhile.
  void walk(const std::function<bool(EntryNumber)>& visit) {
    unpark_all();
    Walk state{small_.front(), main_.front(), main_weight_, {}, 0, false};
    while (state.small != kNoEntry || state.main != kNoEntry || state.next_round < state.round.size()) {
      const EntryNumber entry = next_of_walk(state);
      if (entry != kNoEntry && !visit(entry)) return;
    }
  }

  /// Takes the entry's uses into its counter, and returns it: 0 if it was never used, or not since its last rounds.
  std::uint32_t take_uses(EntryNumber entry) {
    NodeBits bits(entries_.node(entry));
    const std::uint32_t counter = bits.counter();
    const std::uint32_t sum = counter + std::min(entries_.take_uses(entry), kMostUses - counter);
    bits.set_counter(sum);
    return sum;
  }

  [[nodiscard]] std::uint32_t size() const { return small_.size() + main_.size() + parked_.size(); }
  [[nodiscard]] std::uint64_t held_weight() const { return small_weight_ + main_weight_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  /// How many entries the capacity holds at the mean weight of those that are there.
  [[nodiscard]] std::uint64_t expected_entries() const {
    const double held = static_cast<double>(std::max<std::uint64_t>(1, held_weight()));
    return static_cast<std::uint64_t>(std::min(static_cast<double>(capacity_) * size() / held, 0x1p31));
  }
  [[nodiscard]] std::uint64_t ghost_hits() const { return ghost_hits_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return ghost_.memory_bytes(); }

 private:
  // Numbers of queues; a parked entry keeps the bit of where it came from.
  static constexpr std::uint32_t kSmall = 0;
  static constexpr std::uint32_t kMain = 1;
  static constexpr std::uint32_t kParked = 2;
  static constexpr std::uint32_t kMostUses = 3;
  static constexpr std::uint32_t kUsesForMain = 2;

  struct Going {
    EntryNumber entry;
    std::uint32_t counter;
  };
  /// What is left of the queues while a walk goes on: the two lists, and behind the main one those that went round.
  struct Walk {
    EntryNumber small;
    EntryNumber main;
    std::uint64_t main_weight;
    std::vector<Going> round;
    std::size_t next_round;
    bool small_gives;  // it was asked for a victim and has not found one yet
  };

  EntryQueue& queue_of(std::uint32_t number) {
    if ((number & kParked) != 0) return parked_;
    return number == kMain ? main_ : small_;
  }
  /// Tags that the ghost will hold: as many as entries of this size fill the main queue, but not many more than there
  /// are entries, where the capacity is larger than the memory behind it.
  [[nodiscard]] std::uint64_t expected_ghosts() const {
    return std::min<std::uint64_t>(expected_entries() / 10 * 9 + 1, std::uint64_t{2} * size() + 1);
  }

  void enter_main(EntryNumber entry) {
    main_weight_ += entries_.weight(entry);
    NodeBits(entries_.node(entry)).set_queue(kMain);
    main_.push_back(entry);
  }

  void unpark_all() {
    while (!parked_.empty()) {
      const EntryNumber entry = parked_.front();
      parked_.remove(entry);
      NodeBits bits(entries_.node(entry));
      bits.set_queue(bits.queue() & ~kParked);
      queue_of(bits.queue()).push_back(entry);
    }
  }

  EntryNumber sweep_small(std::uint32_t& steps) {
    while (!small_.empty()) {
      const EntryNumber entry = small_.front();
      if (take_uses(entry) < kUsesForMain || ++steps > kMaxSteps) return entry;
      erase(entry);
      NodeBits bits(entries_.node(entry));
      bits.set_counter(0);
      bits.clear_quiet();
      enter_main(entry);
    }
    return kNoEntry;
  }

  EntryNumber sweep_main(std::uint32_t& steps) {
    // Three rounds use up every counter; in a fourth, all that is left is in use at this moment.
    const std::uint64_t most = std::min<std::uint64_t>(kMaxSteps, steps + std::uint64_t{4} * main_.size());
    for (;;) {
      const EntryNumber entry = main_.front();
      const std::uint32_t counter = take_uses(entry);
      if (counter == 0 || ++steps > most) return entry;
      NodeBits(entries_.node(entry)).set_counter(counter - 1);
      main_.move_to_back(entry);
    }
  }

  /// One step of a walk: the entry that goes, or kNoEntry when one moved on instead.
  EntryNumber next_of_walk(Walk& walk) {
    const bool main_left = walk.main != kNoEntry || walk.next_round < walk.round.size();
    // The small queue gives until it has given one.
    walk.small_gives = walk.small != kNoEntry && (walk.small_gives || walk.main_weight <= main_capacity_ || !main_left);
    if (walk.small_gives) {
      const EntryNumber entry = std::exchange(walk.small, small_.after(walk.small));
      if (take_uses(entry) < kUsesForMain) {
        walk.small_gives = false;
        return entry;
      }
      walk.round.push_back({entry, 0});
      walk.main_weight += entries_.weight(entry);
      return kNoEntry;
    }
    Going going{};
    if (walk.main != kNoEntry) {
      going.entry = std::exchange(walk.main, main_.after(walk.main));
      going.counter = take_uses(going.entry);
    } else {
      going = walk.round[walk.next_round++];
    }
    if (going.counter != 0) {
      walk.round.push_back({going.entry, going.counter - 1});
      return kNoEntry;
    }
    walk.main_weight -= entries_.weight(going.entry);
    return going.entry;
  }

  PolicyEntries& entries_;
  EntryQueue small_;
  EntryQueue main_;
  EntryQueue parked_;
  Ghost ghost_;
  std::uint64_t capacity_ = 0;
  std::uint64_t main_capacity_ = 0;
  std::uint64_t small_weight_ = 0;
  std::uint64_t main_weight_ = 0;
  std::uint64_t ghost_hits_ = 0;
};

template <class Ghost>
class S3FifoWith final : public Policy {
 public:
  explicit S3FifoWith(PolicyEntries& entries) : order_(entries) {}

  void set_capacity(std::uint64_t weight) override { order_.set_capacity(weight); }
  void insert(EntryNumber entry, Admission admission) override { order_.insert(entry, admission); }
  void erase(EntryNumber entry) override { order_.erase(entry); }
  [[nodiscard]] EntryNumber next_victim() override { return order_.next_victim(); }
  void evict(EntryNumber entry) override { order_.evict(entry); }
  void pass_over(EntryNumber entry) override { order_.pass_over(entry); }
  void walk(const std::function<bool(EntryNumber)>& visit) override { order_.walk(visit); }
  [[nodiscard]] std::uint64_t ghost_hits() const override { return order_.ghost_hits(); }
  [[nodiscard]] std::uint64_t overhead_bytes() const override { return order_.memory_bytes(); }

 private:
  S3Order<Ghost> order_;
};

using S3Fifo = S3FifoWith<GhostTable>;

}  // namespace timbre::cache
