// SPDX-License-Identifier: MIT
#include "bank/flight_table.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace timbre::bank {
namespace {

void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Result<FlightTable::Joined> FlightTable::join(std::string_view id, bool is_demanded) {
  Shard& own = shard(id);
  const std::lock_guard lock(own.mutex);
  Joined joined;
  const auto found = own.flights.find(id);
  if (found != own.flights.end()) {
    joined.flight = found->second;
  } else {
    // A flight may have landed since the caller missed.
    joined.is_there = ways_.device.cache.peek(id).has_value();
    if (joined.is_there && is_demanded) joined.lease = ways_.device.cache.lookup(id);
    if (joined.lease || (joined.is_there && !is_demanded)) return joined;
    joined.is_there = false;
    if (own.missing.holds(id, now_())) {
      count(ways_.counters.negative_hits);
      return Error{Status::kNotFound, "there is no voice '" + std::string(id) + "'"};
    }
    joined.flight = std::make_shared<Flight>(ways_, id);
    joined.has_begun = true;
    own.flights.emplace(id, joined.flight);
    open_count_.fetch_add(1, std::memory_order_relaxed);
  }
  if (is_demanded) joined.flight->is_demanded.store(true, std::memory_order_relaxed);
  return joined;
}

FlightEnd FlightTable::await(const std::shared_ptr<Flight>& flight, const Wait& wait) {
  std::unique_lock lock(flight->mutex);
  ++flight->waiter_count;
  FlightEnd end = FlightEnd::kLanded;
  while (flight->state == FlightState::kOpen) {
    if (wait.is_cancelled()) {
      end = FlightEnd::kCancelled;
      break;
    }
    if (!flight->is_worked) {
      flight->is_worked = true;
      lock.unlock();
      work(*flight, wait.next_look(), wait.deadline);
      lock.lock();
      flight->is_worked = false;
    } else if (wait.cancelled != nullptr) {
      flight->changed.wait_until(lock, wait.next_look());
    } else if (wait.deadline == Clock::time_point::max()) {
      flight->changed.wait(lock);
    } else {
      flight->changed.wait_until(lock, wait.deadline);
    }
    if (flight->state == FlightState::kOpen && wait.is_over()) {
      end = FlightEnd::kTimedOut;
      break;
    }
  }
  if (flight->state == FlightState::kLanded) end = FlightEnd::kLanded;
  if (flight->state == FlightState::kStale) end = FlightEnd::kStale;
  leave(flight, lock);
  return end;
}

FlightEnd FlightTable::advance(const std::shared_ptr<Flight>& flight, Clock::time_point caller_deadline) {
  std::unique_lock lock(flight->mutex);
  ++flight->waiter_count;
  if (flight->state == FlightState::kOpen && !flight->is_worked) {
    flight->is_worked = true;
    lock.unlock();
    work(*flight, Clock::now(), caller_deadline);
    lock.lock();
    flight->is_worked = false;
  }
  FlightEnd end = FlightEnd::kTimedOut;
  if (flight->state == FlightState::kLanded) end = FlightEnd::kLanded;
  if (flight->state == FlightState::kStale) end = FlightEnd::kStale;
  leave(flight, lock);
  return end;
}

/// Whoever goes while the flight is open wakes somebody else to work on it.
void FlightTable::leave(const std::shared_ptr<Flight>& flight, std::unique_lock<std::mutex>& lock) {
  --flight->waiter_count;
  if (flight->state != FlightState::kOpen || flight->is_worked) return;
  const bool is_unattended = flight->waiter_count == 0;
  lock.unlock();
  flight->changed.notify_one();
  if (is_unattended && open_count() > kMostUnattended) discard_unattended(flight);
}

void FlightTable::work(Flight& flight, Clock::time_point deadline, Clock::time_point caller_deadline) {
  const bool is_demanded = flight.is_demanded.load(std::memory_order_relaxed);
  const Result<Loading::Progress> worked =
      flight.work.pump(deadline, caller_deadline, is_demanded ? cache::Admission::kDemand : cache::Admission::kQuiet);
  if (!worked || *worked == Loading::Progress::kReady) land(flight, worked);
}

void FlightTable::land(Flight& flight, const Result<Loading::Progress>& worked) {
  Shard& own = shard(flight.id);
  const std::lock_guard table_lock(own.mutex);
  const std::lock_guard lock(flight.mutex);
  if (flight.state != FlightState::kOpen) return;
  try {
    Result<cache::Lease> shown = worked ? flight.work.publish() : Result<cache::Lease>(worked.error());
    if (shown) {
      flight.lease = std::make_shared<const cache::Lease>(std::move(*shown));
    } else {
      flight.error = std::move(shown).error();
      count(flight.error->status == Status::kNotFound ? ways_.counters.not_found : ways_.counters.failures);
      if (flight.error->status == Status::kNotFound) own.missing.add(flight.id, now_() + kNegativeLife);
    }
  } catch (const std::bad_alloc&) {
    if (!flight.error) flight.error = Error{Status::kOutOfMemory, "out of memory"};
  }
  flight.state = FlightState::kLanded;
  own.flights.erase(flight.id);
  open_count_.fetch_sub(1, std::memory_order_relaxed);
  flight.changed.notify_all();
}

void FlightTable::make_stale(Flight& flight) {
  const std::lock_guard lock(flight.mutex);
  if (flight.state != FlightState::kOpen) return;
  flight.state = FlightState::kStale;
  open_count_.fetch_sub(1, std::memory_order_relaxed);
  count(ways_.counters.stale);
  flight.changed.notify_all();
}

bool FlightTable::invalidate(std::string_view id, const Write* own_write, cache::EvictionCause cause) {
  Shard& own = shard(id);
  std::shared_ptr<Flight> overtaken;  // ends after the lock
  const std::lock_guard lock(own.mutex);
  if (const auto found = own.flights.find(id); found != own.flights.end()) {
    overtaken = std::move(found->second);
    own.flights.erase(found);
    make_stale(*overtaken);
  }
  own.missing.erase(id);
  for (Write* const write : own.writes) {
    if (write != own_write && write->id == id) write->is_stale = true;
  }
  const bool was_on_device = ways_.device.cache.remove(id, cause);
  const bool was_on_host = ways_.host != nullptr && ways_.host->cache.remove(id, cause);
  return was_on_device || was_on_host;
}

void FlightTable::invalidate_all() {
  std::array<std::unique_lock<std::mutex>, kShards> locks;
  for (std::size_t i = 0; i < kShards; ++i) locks[i] = std::unique_lock(shards_[i].mutex);
  for (Shard& own : shards_) {
    for (const auto& [id, flight] : own.flights) make_stale(*flight);
    own.flights.clear();
    own.missing.clear();
    for (Write* const write : own.writes) write->is_stale = true;
  }
  ways_.device.cache.clear();
  if (ways_.host != nullptr) ways_.host->cache.clear();
}

void FlightTable::discard_unattended(const std::shared_ptr<Flight>& flight) {
  Shard& own = shard(flight->id);
  const std::lock_guard table_lock(own.mutex);
  {
    const std::lock_guard lock(flight->mutex);
    if (flight->waiter_count != 0 || flight->is_worked) return;
  }
  const auto found = own.flights.find(flight->id);
  if (found == own.flights.end() || found->second != flight) return;
  own.flights.erase(found);
  make_stale(*flight);
}

void FlightTable::begin_write(Write& write) {
  Shard& own = shard(write.id);
  const std::lock_guard lock(own.mutex);
  own.writes.push_back(&write);
}

void FlightTable::end_write(Write& write) {
  Shard& own = shard(write.id);
  const std::lock_guard lock(own.mutex);
  std::erase(own.writes, &write);
}

bool FlightTable::show(const Write& write, Tier& tier, cache::Reservation&& room) {
  Shard& own = shard(write.id);
  const std::lock_guard lock(own.mutex);
  if (write.is_stale) return false;
  return tier.cache.publish(std::move(room)).ok();
}

std::vector<std::shared_ptr<Flight>> FlightTable::unattended() {
  std::vector<std::shared_ptr<Flight>> found;
  for (Shard& own : shards_) {
    const std::lock_guard lock(own.mutex);
    for (const auto& [id, flight] : own.flights) {
      const std::lock_guard flight_lock(flight->mutex);
      if (flight->waiter_count == 0) found.push_back(flight);
    }
  }
  return found;
}

std::size_t FlightTable::waiter_count() {
  std::size_t waiters = 0;
  for (Shard& own : shards_) {
    const std::lock_guard lock(own.mutex);
    for (const auto& [id, flight] : own.flights) {
      const std::lock_guard flight_lock(flight->mutex);
      waiters += flight->waiter_count;
    }
  }
  return waiters;
}

FlightTable::Facts FlightTable::facts(std::string_view id) {
  Shard& own = shard(id);
  const std::lock_guard lock(own.mutex);
  return {own.flights.contains(id), own.missing.holds(id, now_())};
}

}  // namespace timbre::bank
