// SPDX-License-Identifier: MIT
#include "bank/governor.hpp"

#include <algorithm>
#include <utility>

namespace timbre::bank {
namespace {

std::uint64_t pool_bytes_leased(const cache::CacheStats& stats) {
  // A transient entry has a lease for as long as it lives, or is about to.
  return stats.leased_bytes - std::min(stats.leased_bytes, stats.transient_bytes);
}

}  // namespace

Result<std::unique_ptr<Governor>> Governor::create(cache::VoiceCache& cache, std::unique_ptr<MemoryProvider> provider,
                                                   GovernorOptions options) {
  if (Result<void> good = cache::check(options.budget); !good) return std::move(good).error();
  if (provider == nullptr || !options.clock || options.read_interval.count() < 0) {
    return Error{Status::kInvalidArgument,
                 "governor: expected a provider, a clock and an interval that is not negative"};
  }
  std::unique_ptr<Governor> governor(new Governor(cache, std::move(provider), std::move(options)));
  const cache::BudgetDecision& blind = governor->rule_.decision();
  governor->health_.last_change = {0, blind.budget_bytes, blind.reason, governor->options_.clock()};
  governor->apply();
  return governor;
}

bool Governor::begin_reading(Instant time) {
  Lock lock(mutex_);
  if (rule_.cap_bytes() == 0) {
    if (held_bytes_ > 0) apply(lock);
    return false;
  }
  if (reading_ || (read_at_ && time - *read_at_ < options_.read_interval)) return false;
  reading_ = true;
  read_at_ = time;
  return true;
}

/// The one reading that is under way.
class Governor::Turn {
 public:
  explicit Turn(Governor& governor) : governor_(governor) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const Lock lock(governor_.mutex_);
    governor_.reading_ = false;
  }

 private:
  Governor& governor_;
};

bool Governor::tick() {
  const Instant time = options_.clock();
  if (!begin_reading(time)) return false;
  const Turn turn(*this);
  const std::uint64_t before = apply();
  const Result<device::MemoryReading> reading = provider_->read();
  const std::uint64_t after = apply();
  decide(reading, std::min(before, after), time);
  apply();
  return true;
}

void Governor::decide(const Result<device::MemoryReading>& reading, std::uint64_t held_bytes, Instant time) {
  cache::BudgetUsage usage{held_bytes, 0};
  if (reading) {
    Lock lock(mutex_);
    const bool shrinks = rule_.target_bytes(*reading, held_bytes, time) < held_bytes;
    lock.unlock();
    if (shrinks) usage.leased_bytes = leased_bytes();
  }
  const Lock lock(mutex_);
  const std::uint64_t from = rule_.decision().budget_bytes;
  ++health_.readings;
  if (!reading) {
    ++health_.failed_readings;
    health_.last_error = reading.error().message;
    rule_.fail(reading.error().status, time);
  } else {
    const cache::BudgetDecision& decision = rule_.read(*reading, usage, time);
    health_.last_error.clear();
    health_.reading = *reading;
    health_.reading_time = time;
    health_.target_bytes = rule_.target_bytes(*reading, held_bytes, time);
    health_.impossible_readings += decision.reason == cache::BudgetReason::kImpossible ? 1 : 0;
    health_.unconfirmed_readings += decision.reason == cache::BudgetReason::kUnconfirmed ? 1 : 0;
    health_.floor_hits += decision.at_floor ? 1 : 0;
  }
  note_change(from, time);
}

void Governor::note_change(std::uint64_t from_bytes, Instant time) {
  const cache::BudgetDecision& decision = rule_.decision();
  if (decision.budget_bytes == from_bytes) return;
  ++(decision.budget_bytes < from_bytes ? health_.shrinks : health_.grows);
  health_.last_change = {from_bytes, decision.budget_bytes, decision.reason, time};
}

/// The one setting of the cache's budget that is under way.
class Governor::Setting {
 public:
  Setting(Governor& governor, Lock& lock) : governor_(governor), lock_(lock) { governor_.applying_ = true; }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (!lock_.owns_lock()) lock_.lock();
    governor_.applying_ = false;
    governor_.applied_.notify_all();
  }

 private:
  Governor& governor_;
  Lock& lock_;
};

std::uint64_t Governor::apply() {
  Lock lock(mutex_);
  return apply(lock);
}

std::uint64_t Governor::apply(Lock& lock) {
  const std::uint64_t mine = ++wanted_;
  applied_.wait(lock, [this, mine] { return done_ >= mine || !applying_; });
  if (done_ >= mine) return held_bytes_;
  const Setting setting(*this, lock);
  const std::uint64_t newest = wanted_;
  const std::uint64_t budget = rule_.decision().budget_bytes;
  lock.unlock();
  const std::uint64_t held = cache_.set_budget(budget);
  lock.lock();
  held_bytes_ = held;
  done_ = newest;
  return held;
}

std::uint64_t Governor::set_cap(std::uint64_t bytes) {
  const Instant time = options_.clock();
  Lock lock(mutex_);
  const std::uint64_t from = rule_.decision().budget_bytes;
  if (bytes > rule_.cap_bytes()) read_at_.reset();
  rule_.set_cap(bytes, time);
  note_change(from, time);
  return apply(lock);
}

std::uint64_t Governor::trim(std::uint64_t bytes) {
  {
    const Lock lock(mutex_);
    ++health_.trims;
  }
  return give_back(bytes, cache::BudgetReason::kTrim);
}

std::uint64_t Governor::out_of_memory(std::uint64_t bytes) {
  const Instant time = options_.clock();
  {
    const Lock lock(mutex_);
    ++health_.out_of_memory;
    rule_.remember_shortage(bytes, time);
  }
  return give_back(bytes, cache::BudgetReason::kOutOfMemory);
}

std::uint64_t Governor::give_back(std::uint64_t bytes, cache::BudgetReason reason) {
  if (bytes == 0) return 0;
  const Instant time = options_.clock();
  Lock lock(mutex_);
  const std::uint64_t held = apply(lock);
  // A cache that has nothing yet has nothing to be asked for; after a failed allocation it must not begin either.
  if (held == 0 && reason == cache::BudgetReason::kTrim) return 0;
  lock.unlock();
  const std::uint64_t freed = cache_.trim(bytes);
  lock.lock();
  const std::uint64_t from = rule_.decision().budget_bytes;
  rule_.lower(held - std::min(held, bytes), reason);
  note_change(from, time);
  const std::uint64_t left = apply(lock);  // what came in since the trim goes again
  return std::max(freed, held - std::min(held, left));
}

void Governor::set_warm(bool warm) {
  const Lock lock(mutex_);
  rule_.set_warm(warm);
}

void Governor::set_workspace(std::uint64_t bytes) {
  const Lock lock(mutex_);
  rule_.set_workspace(bytes);
}

std::uint64_t Governor::leased_bytes() { return pool_bytes_leased(cache_.stats()); }

GovernorHealth Governor::health() {
  const cache::CacheStats stats = cache_.stats();
  const Instant time = options_.clock();
  const Lock lock(mutex_);
  GovernorHealth health = health_;
  health.decision = rule_.decision();
  health.cap_bytes = rule_.cap_bytes();
  health.headroom_bytes = rule_.headroom_bytes(health.reading ? health.reading->total_bytes : 0, time);
  health.held_bytes = stats.held_bytes;
  health.leased_bytes = pool_bytes_leased(stats);
  health.transient_bytes = stats.transient_bytes;
  return health;
}

}  // namespace timbre::bank
