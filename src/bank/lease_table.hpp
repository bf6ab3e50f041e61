// SPDX-License-Identifier: MIT
//
// LeaseTable: leases by token, for those who can hold numbers but no objects.
//
// A token is a slot's number (24 bits) and its generation (40 bits), which rises each time the slot is used again: a
// token that was given back is told from the one that came after it.
//
// Invariants
//   * A slot is in one of: free (in the list of one stripe), live (its token finds it), being filled or emptied by one
//     thread.
//   * put() and take() neither lock nor allocate, but for a put() that finds no free slot.
//   * Slots are never freed before the table: a stale token reads a slot, not freed memory.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>

#include "bank/voice_lease.hpp"

namespace timbre::bank {

/// Thread safety: all members from any thread, but for the destructor.
class LeaseTable {
 public:
  using Token = std::uint64_t;  // never 0

  LeaseTable() = default;
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;
  ~LeaseTable();

  /// Keeps a lease. Error: kOutOfMemory, and the lease is still the caller's.
  [[nodiscard]] Result<Token> put(VoiceLease& lease);

  /// Gives the lease back to the caller; the token is worth nothing from then on. Error: kInvalidArgument for a token
  /// that was taken before or never given, and nothing has changed.
  [[nodiscard]] Result<VoiceLease> take(Token token);

  /// The lease of a token, or null. It stays where it is until the token is taken, which is the caller's to order.
  [[nodiscard]] const VoiceLease* find(Token token) const;

  /// Leases in the table. Walks all slots.
  [[nodiscard]] std::uint64_t size() const;

 private:
  static constexpr std::uint32_t kIndexBits = 24;
  static constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
  static constexpr std::uint32_t kFirst = 256;  // slots of the first block; each further one has twice as many
  static constexpr std::size_t kBlocks = 16;    // together kFirst * (2^16 - 1), below 2^24
  static constexpr std::size_t kStripes = 8;

  struct alignas(64) Slot {
    std::atomic<std::uint64_t> use{std::uint64_t{1} << 1U};  // generation << 1 | whether it is live
    std::atomic<std::uint32_t> next{0};                      // number + 1 of the next free slot
    VoiceLease lease;
  };
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> head{0};  // changes << kIndexBits | number + 1 of the first free slot, 0: none
  };

  static Token token_of(std::uint32_t number, std::uint64_t generation) { return generation << kIndexBits | number; }
  [[nodiscard]] Slot* slot(std::uint64_t number) const;
  [[nodiscard]] std::uint32_t pop(Stripe& stripe);
  void push(Stripe& stripe, std::uint32_t first, Slot& last);
  [[nodiscard]] bool grow();
  Stripe& own_stripe();

  std::array<std::atomic<Slot*>, kBlocks> blocks_{};
  std::array<Stripe, kStripes> stripes_;
  std::mutex mutex_;
  std::size_t block_count_ = 0;  // guarded by mutex_
};

}  // namespace timbre::bank
