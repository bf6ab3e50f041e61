// SPDX-License-Identifier: MIT
//
// c/engine.h: the memory of the cache of voices: its budget, what it holds, and why.
#include "capi/arguments.hpp"
#include "capi/engine_state.hpp"
#include "timbre/c/engine.h"

namespace timbre::capi {

template <>
inline constexpr std::uint32_t kFirstSize<timbre_stats> = offsetof(timbre_stats, store_changes);
template <>
inline constexpr std::uint32_t kFirstSize<timbre_health> = offsetof(timbre_health, store_read_only);

namespace {

using std::chrono::steady_clock;

std::uint64_t age_ms(steady_clock::time_point since) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - since);
  return age.count() < 0 ? 0 : static_cast<std::uint64_t>(age.count());
}

std::uint64_t evictions(const cache::CacheStats& stats, cache::EvictionCause cause) {
  const auto index = static_cast<std::size_t>(cause);
  return stats.rows.evictions[index] + stats.blobs.evictions[index];
}

timbre_stats stats_of(VoiceTiers& voices) {
  const bank::BankStats bank = voices.bank().stats();
  const cache::CacheStats& cache = bank.device;
  timbre_stats stats{};
  stats.entries = cache.rows.entries + cache.blobs.entries;
  stats.leases = cache.leases;
  stats.hits = cache.hits;
  stats.misses = cache.misses;
  stats.inserts = cache.rows.inserts + cache.blobs.inserts;
  stats.evicted_for_room = evictions(cache, cache::EvictionCause::kRoom);
  stats.evicted_for_budget = evictions(cache, cache::EvictionCause::kBudget);
  stats.evicted_for_trim = evictions(cache, cache::EvictionCause::kTrim);
  stats.replaced = evictions(cache, cache::EvictionCause::kReplaced);
  stats.removed = evictions(cache, cache::EvictionCause::kRemoved) + evictions(cache, cache::EvictionCause::kCleared);
  stats.budget_bytes = cache.budget_bytes;
  stats.held_bytes = cache.held_bytes;
  stats.leased_bytes = cache.leased_bytes;
  stats.retired_bytes = cache.retired_bytes;
  stats.transient_bytes = cache.transient_bytes;
  stats.largest_free_bytes = cache.largest_free_bytes;
  stats.overhead_bytes = cache.overhead_bytes;
  stats.loads = bank.loads;
  stats.load_failures = bank.load_failures;
  stats.not_found = bank.not_found;
  stats.negative_hits = bank.negative_hits;
  stats.refused_records = bank.refused_records;
  stats.written_exports = voices.written_exports();
  const KeeperFacts store = voices.keeper().facts();
  stats.store_changes = store.changes;
  stats.store_damaged_loads = store.library.damaged_loads;
  stats.store_log_bytes = store.library.log_bytes;
  stats.store_pending_erasures = store.library.pending_erasures;
  return stats;
}

timbre_health health_of(VoiceTiers& voices) {
  const bank::GovernorHealth now = voices.governor().health();
  timbre_health health{};
  const cache::BudgetReason reason = now.decision.reason;
  health.memory_unreadable = reason == cache::BudgetReason::kImpossible ||
                                     reason == cache::BudgetReason::kReadingFailed ||
                                     reason == cache::BudgetReason::kUnsupported
                                 ? 1
                                 : 0;
  health.budget_bytes = now.decision.budget_bytes;
  health.cap_bytes = now.cap_bytes;
  health.held_bytes = now.held_bytes;
  health.leased_bytes = now.leased_bytes;
  if (now.reading) {
    health.free_bytes = now.reading->free_bytes;
    health.total_bytes = now.reading->total_bytes;
  }
  health.headroom_bytes = now.headroom_bytes;
  health.change_from_bytes = now.last_change.from_bytes;
  health.change_to_bytes = now.last_change.to_bytes;
  health.change_age_ms = age_ms(now.last_change.time);
  health.reason = name_of(reason).data();
  health.change_reason = name_of(now.last_change.reason).data();
  health.readings = now.readings;
  health.failed_readings = now.failed_readings;
  health.impossible_readings = now.impossible_readings;
  health.shrinks = now.shrinks;
  health.grows = now.grows;
  health.floor_hits = now.floor_hits;
  const KeeperFacts store = voices.keeper().facts();
  health.store_read_only = store.library.is_read_only ? 1 : 0;
  health.store_log_over_limit = store.library.log_over_limit ? 1 : 0;
  health.store_failures = store.failures;
  health.store_look_age_ms = store.last_look ? age_ms(*store.last_look) : TIMBRE_AUTO_U64;
  return health;
}

}  // namespace
}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Result;

extern "C" {

timbre_status timbre_engine_set_budget(timbre_engine* engine, uint64_t device_bytes, uint64_t host_bytes) {
  return guard([&]() -> Result<void> {
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    if (Result<void> checked = check_host_bytes(host_bytes, "host_bytes"); !checked) return checked;
    // The sentinel is the governor's "no cap" as well.
    (*state)->voices().governor().set_cap(device_bytes);
    (*state)->wake_background();
    return {};
  });
}

timbre_status timbre_engine_trim(timbre_engine* engine, uint64_t bytes, uint64_t* out_freed) {
  return guard([&]() -> Result<void> {
    if (out_freed != nullptr) *out_freed = 0;
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const std::uint64_t freed = (*state)->voices().governor().trim(bytes);
    if (out_freed != nullptr) *out_freed = freed;
    return {};
  });
}

timbre_status timbre_engine_poll(timbre_engine* engine, int32_t timeout_ms) {
  return guard([&]() -> Result<void> {
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const Result<std::chrono::steady_clock::time_point> deadline = read_deadline(timeout_ms);
    if (!deadline) return deadline.error();
    (*state)->voices().work(*deadline);
    return {};
  });
}

timbre_status timbre_engine_stats(timbre_engine* engine, timbre_stats* out_stats) {
  return guard([&]() -> Result<void> {
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    return write_struct(out_stats, stats_of((*state)->voices()), "out_stats");
  });
}

timbre_status timbre_engine_health(timbre_engine* engine, timbre_health* out_health) {
  return guard([&]() -> Result<void> {
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    return write_struct(out_health, health_of((*state)->voices()), "out_health");
  });
}

}  // extern "C"
