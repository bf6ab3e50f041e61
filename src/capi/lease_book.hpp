// SPDX-License-Identifier: MIT
//
// LeaseBook: the leases that a host holds, by token.
//
// A token is a slot's index and the serial number of its use, so that one that was given back is known for wrong
// without any memory of it. Slots lie on stacks, one for each group of threads, and come home when they are free; so a
// get and a release take no lock, and no memory once the slots are there.
//
// Invariants
//   * A slot's state (serial, live, counted) changes only by compare-and-swap: of two who give back one lease, one
//   wins.
//   * The book lives until its engine has let go of it and the last lease is given back; until then it keeps alive what
//     the leases are on. While the engine lives nobody counts leases; retire() counts those that are out then.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "bank/voice_lease.hpp"
#include "capi/voice_tiers.hpp"
#include "timbre/c/voice.h"
#include "timbre/core/result.hpp"

namespace timbre::capi {

/// Thread safety: all members from any thread; retire() once, and no give() at the same time or after it.
class LeaseBook {
 public:
  /// @param below  what leases are on; dropped with the book. The caller owns the book until retire().
  [[nodiscard]] static LeaseBook* make(std::shared_ptr<VoiceTiers> below) { return new LeaseBook(std::move(below)); }
  LeaseBook(const LeaseBook&) = delete;
  LeaseBook& operator=(const LeaseBook&) = delete;

  /// Hands a lease out. Error: kOutOfMemory (2^20 leases are out).
  [[nodiscard]] Result<timbre_lease> give(bank::VoiceLease&& lease);

  /// Hands one more lease out on what a lease of this book is on; also after retire().
  [[nodiscard]] Result<timbre_lease> give_again(const bank::VoiceLease& held);

  /// The lease of a token that was handed out and not given back. Error: kInvalidArgument.
  [[nodiscard]] static Result<const bank::VoiceLease*> find(const timbre_lease* lease);

  /// Ends a lease that nothing else is to be done with. Error: as take().
  [[nodiscard]] static Result<void> give_back(const timbre_lease* lease);

  /// Takes a lease back. Error: kInvalidArgument, and nothing has changed.
  [[nodiscard]] static Result<bank::VoiceLease> take(const timbre_lease* lease);

  /// After the lease that take() gave has gone: the book may go with the last one.
  static void end(const timbre_lease& lease);

  /// The engine is gone.
  void retire();

  [[nodiscard]] VoiceTiers& below() { return *below_; }

 private:
  static constexpr std::uint32_t kChunkSlots = 1024;
  static constexpr std::uint32_t kChunks = 1024;
  static constexpr std::uint32_t kStripes = 16;
  static constexpr std::uint32_t kRefill = 32;  // new slots that a stripe gets at once
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // A slot's state: bit 0 live, bit 1 counted by retire(), bits 2.. the serial number.
  static constexpr std::uint32_t kLive = 1;
  static constexpr std::uint32_t kCounted = 2;

  struct alignas(64) Slot {
    bank::VoiceLease lease;  // owned by whoever took the slot from a stack, then by the holder of the token
    std::atomic<std::uint32_t> state{0};
    std::atomic<std::uint32_t> next{kNone};  // below it on its stack
    std::uint32_t home = 0;                  // its stripe
  };
  /// The top of a stack: how often it changed, and a slot's index.
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> top{kNone};
  };

  explicit LeaseBook(std::shared_ptr<VoiceTiers> below) : below_(std::move(below)) {}
  ~LeaseBook();

  [[nodiscard]] Slot& slot(std::uint32_t index) const {
    return chunks_[index / kChunkSlots].load(std::memory_order_acquire)[index % kChunkSlots];
  }
  static Result<Slot*> take_slot(const timbre_lease* lease);
  static Result<Slot*> live_slot(const timbre_lease* lease, std::uint32_t& state);
  void count(Slot& live);
  [[nodiscard]] std::uint32_t pop(Stripe& stripe);
  void push(std::uint32_t index);
  /// New slots for a stripe; one of them, or kNone.
  std::uint32_t refill(std::uint32_t stripe);
  void drop_one();

  std::shared_ptr<VoiceTiers> below_;
  std::array<Stripe, kStripes> stripes_;
  std::array<std::atomic<Slot*>, kChunks> chunks_{};
  std::atomic<std::uint32_t> made_{0};  // slots with a lower index are there; grows under grow_mutex_
  std::mutex grow_mutex_;
  std::atomic<std::uint64_t> holders_{1};  // the engine, and leases that are counted
  std::atomic<bool> retired_{false};
};

}  // namespace timbre::capi
