// SPDX-License-Identifier: MIT
//
// EntryWord: the one 64-bit word that says who uses an entry and what state it is in.
//
//   bits  0..29  acquires   leases taken since the counters last began
//   bits 30..59  releases   leases given back
//   bit  60      held       the lease of whoever published the entry, which is no use
//   bits 61..63  state
//
// An entry is leased while acquires != releases or held. Every member is one atomic operation (take_uses and the two
// try_ calls: one that succeeds), so that tests can run every interleaving of them. docs/cache.md has the state
// diagram.
//
// Invariants
//   * acquire() may meet any state. Met visible: the entry stays as it is until release() or undo(). Met retired:
//   undo()
//     must follow. Met empty, loading or exclusive: nothing follows, the owner's next store wipes the count away.
//   * From visible or retired to exclusive leads only a compare-and-swap of an unleased word: whoever wins owns the
//   entry
//     alone and leaves the state by a store.
//   * Counters cannot run into each other: a release that finds the releases half full takes the same amount from both.
#pragma once

#include <atomic>
#include <cstdint>

namespace timbre::cache {

enum class EntryState : std::uint8_t {
  kEmpty = 0,      ///< on the free list
  kLoading = 1,    ///< owned by a reservation, in no index
  kVisible = 2,    ///< found by lookups
  kRetired = 3,    ///< out of the index, freed by whoever gives back the last lease
  kExclusive = 4,  ///< being evicted, freed or moved by one thread
};

/// A value of the word.
struct EntryUse {
  static constexpr std::uint64_t kAcquire = 1;
  static constexpr std::uint64_t kRelease = std::uint64_t{1} << 30U;
  static constexpr std::uint64_t kHeld = std::uint64_t{1} << 60U;
  static constexpr std::uint64_t kCounter = kRelease - 1;
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << 29U;  // of a counter's range

  std::uint64_t bits = 0;

  [[nodiscard]] constexpr std::uint32_t acquires() const { return static_cast<std::uint32_t>(bits & kCounter); }
  [[nodiscard]] constexpr std::uint32_t releases() const { return static_cast<std::uint32_t>(bits >> 30U & kCounter); }
  [[nodiscard]] constexpr bool held() const { return (bits & kHeld) != 0; }
  [[nodiscard]] constexpr EntryState state() const { return static_cast<EntryState>(bits >> 61U); }
  [[nodiscard]] constexpr bool leased() const { return held() || acquires() != releases(); }
  /// Leases that are out.
  [[nodiscard]] constexpr std::uint32_t leases() const { return acquires() - releases() + (held() ? 1U : 0U); }

  static constexpr EntryUse make(EntryState state, std::uint32_t count = 0, bool held = false) {
    return {static_cast<std::uint64_t>(state) << 61U | (held ? kHeld : 0U) | count * kRelease | count * kAcquire};
  }
};

class EntryWord {
 public:
  [[nodiscard]] EntryUse load() const { return {word_.load(std::memory_order_acquire)}; }

  /// Adds an acquire. @return the word before it: its state tells what the caller has got.
  EntryUse acquire() { return {word_.fetch_add(EntryUse::kAcquire, std::memory_order_acquire)}; }

  /// Takes back an acquire that met the wrong id or a retired entry. @return the word after it.
  EntryUse undo() { return {word_.fetch_sub(EntryUse::kAcquire, std::memory_order_acq_rel) - EntryUse::kAcquire}; }

  /// Gives back a lease. @return the word after it; where its releases() reach kHalf the caller calls recede().
  EntryUse release() { return {word_.fetch_add(EntryUse::kRelease, std::memory_order_acq_rel) + EntryUse::kRelease}; }

  /// Takes kHalf from both counters. @return whether it was this call that did.
  bool recede() {
    constexpr std::uint64_t kBoth = EntryUse::kHalf * EntryUse::kRelease | EntryUse::kHalf;
    return (word_.fetch_and(~kBoth, std::memory_order_acq_rel) & kBoth) != 0;
  }

  /// Gives back the publisher's lease. @return the word after it.
  EntryUse drop_hold() { return {word_.fetch_and(~EntryUse::kHeld, std::memory_order_acq_rel) & ~EntryUse::kHeld}; }

  /// From an unleased word in state `from` to exclusive. @param before the word that was left or that forbade it.
  bool try_exclusive(EntryState from, EntryUse& before) {
    before = load();
    if (before.state() != from || before.leased()) return false;
    const std::uint64_t next = (before.bits & ~(std::uint64_t{7} << 61U)) | EntryUse::make(EntryState::kExclusive).bits;
    return word_.compare_exchange_strong(before.bits, next, std::memory_order_acq_rel, std::memory_order_acquire);
  }

  /// From visible to retired; only the holder of the miss lock calls it. @return the word after it.
  EntryUse retire() {
    constexpr std::uint64_t kStep = std::uint64_t{1} << 61U;
    return {word_.fetch_add(kStep, std::memory_order_acq_rel) + kStep};
  }

  /// The owner's store: wipes out whatever acquires met the state before.
  void store(EntryUse use) { word_.store(use.bits, std::memory_order_release); }

  /// Uses since the last call. Counters start again at the leases that are out; those count again at the next call.
  /// @param given_back  how much was taken from both counters.
  std::uint32_t take_uses(std::uint32_t& given_back) {
    EntryUse before = load();
    std::uint64_t taken = 0;
    do {
      taken = before.releases() * (EntryUse::kRelease + EntryUse::kAcquire);
    } while (!word_.compare_exchange_weak(before.bits, before.bits - taken, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    given_back = before.releases();
    return before.acquires();
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace timbre::cache
