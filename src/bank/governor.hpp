// SPDX-License-Identifier: MIT
//
// Governor: keeps one tier of the cache within what memory allows. It reads free memory about once a second, asks the
// rule (timbre/cache/budget.hpp) and sets the cache's budget; and it gives bytes back at once to whoever asks.
// docs/budget.md says how it decides.
//
// There is no thread here: somebody calls tick(), off the path of requests. One governor sizes one cache and nobody
// else sets that cache's budget.
//
// Invariants
//   * No lock is held during a reading or a call of the cache, so the state can be asked for at any time.
//   * One reading is under way at a time, and one setting of the budget; the newest budget is the last one set.
//   * A reading counts with what the cache held before or after it, whichever is less: bytes that the cache takes or
//     gives back meanwhile are not counted twice.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bank/memory_provider.hpp"
#include "timbre/cache/budget.hpp"
#include "timbre/cache/voice_cache.hpp"

namespace timbre::bank {

struct GovernorOptions {
  cache::BudgetSettings budget;
  std::chrono::milliseconds read_interval{1000};  ///< readings cost 5 us to 8 ms, so not more often
  /// The time that counts; tests turn it. From any thread.
  std::function<cache::BudgetRule::Instant()> clock = [] { return std::chrono::steady_clock::now(); };
};

struct BudgetChange {
  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = 0;
  cache::BudgetReason reason = cache::BudgetReason::kBlind;
  cache::BudgetRule::Instant time;
};

struct GovernorHealth {
  cache::BudgetDecision decision;  ///< the budget and why it is so
  BudgetChange last_change;        ///< of the budget; at first: from 0 to what is allowed without a reading
  std::uint64_t cap_bytes = 0;
  std::uint64_t headroom_bytes = 0;              ///< for the last reading's total
  std::uint64_t target_bytes = 0;                ///< what the formula allowed at the last reading
  std::uint64_t held_bytes = 0;                  ///< by the cache, now
  std::uint64_t leased_bytes = 0;                ///< of them; the least that a shrink leaves
  std::uint64_t transient_bytes = 0;             ///< beside the budget
  std::optional<device::MemoryReading> reading;  ///< the last that came, possible or not
  cache::BudgetRule::Instant reading_time;
  std::string last_error;  ///< of the last reading that failed; empty once one came again
  std::uint64_t readings = 0;
  std::uint64_t failed_readings = 0;
  std::uint64_t impossible_readings = 0;
  std::uint64_t unconfirmed_readings = 0;
  std::uint64_t floor_hits = 0;  ///< readings that allowed less than leases held
  std::uint64_t shrinks = 0;     ///< of the budget
  std::uint64_t grows = 0;
  std::uint64_t trims = 0;
  std::uint64_t out_of_memory = 0;  ///< calls of out_of_memory()
};

/// Thread safety: all members may be called from any thread, but not from within a call of the cache (its device's
/// allocate(), say): they call the cache.
class Governor {
 public:
  /// Sets the budget that is allowed without a reading; the first tick() reads.
  /// @param cache  must outlive the governor, which is the only one to set its budget.
  /// Errors: kInvalidArgument for settings that check() refuses, or a provider or clock that is not there.
  [[nodiscard]] static Result<std::unique_ptr<Governor>> create(cache::VoiceCache& cache,
                                                                std::unique_ptr<MemoryProvider> provider,
                                                                GovernorOptions options);

  /// Reads and applies, if it is time and nobody else is at it. @return whether a reading was made: none is for a cap
  /// of 0.
  bool tick();

  /// The host's cap. Less is in force when this returns, more with the next tick(), which reads at once.
  /// @return what the cache holds then; more than the cap where leases hold it.
  std::uint64_t set_cap(std::uint64_t bytes);

  /// Gives `bytes` back at once, if leases allow it; the cache takes them again only slowly. Waits for no stream.
  /// @return how many bytes went.
  std::uint64_t trim(std::uint64_t bytes);

  /// For an allocation of so many bytes that has failed: gives at least that back at once if leases allow it, and
  /// leaves as much free for a while. @return how many bytes went.
  std::uint64_t out_of_memory(std::uint64_t bytes);

  /// Whether the synthesizer has warmed up, and the bytes it has declared to need; in force from the next reading on.
  void set_warm(bool warm);
  void set_workspace(std::uint64_t bytes);

  /// Walks all entries of the cache under its miss lock: not for every frame.
  [[nodiscard]] GovernorHealth health();

 private:
  using Instant = cache::BudgetRule::Instant;
  using Lock = std::unique_lock<std::mutex>;

  Governor(cache::VoiceCache& cache, std::unique_ptr<MemoryProvider> provider, GovernorOptions options)
      : cache_(cache), provider_(std::move(provider)), options_(std::move(options)), rule_(options_.budget) {}

  class Turn;
  class Setting;

  /// Whether it is time and nobody else is at it; then it is the caller's turn.
  [[nodiscard]] bool begin_reading(Instant time);
  /// Brings the budget to the cache, with it what leases kept from going before. Lets go of the lock meanwhile; returns
  /// when a budget at least as new has been set. @return what the cache holds then.
  std::uint64_t apply(Lock& lock);
  std::uint64_t apply();
  std::uint64_t give_back(std::uint64_t bytes, cache::BudgetReason reason);
  void decide(const Result<device::MemoryReading>& reading, std::uint64_t held_bytes, Instant time);
  void note_change(std::uint64_t from_bytes, Instant time);  // under the lock
  [[nodiscard]] std::uint64_t leased_bytes();

  cache::VoiceCache& cache_;
  const std::unique_ptr<MemoryProvider> provider_;
  const GovernorOptions options_;

  std::mutex mutex_;  // guards all below
  std::condition_variable applied_;
  cache::BudgetRule rule_;
  std::uint64_t wanted_ = 0;  // how often a budget was to be set, and how many of these are done
  std::uint64_t done_ = 0;
  bool applying_ = false;
  bool reading_ = false;
  std::optional<Instant> read_at_;  // when the last reading began; nothing where the next tick shall read
  std::uint64_t held_bytes_ = 0;    // as of the last setting
  GovernorHealth health_;           // but for what health() fills in
};

}  // namespace timbre::bank
