// SPDX-License-Identifier: MIT
#include "bank/voice_bank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <new>
#include <utility>

#include "voice/packed_voice.hpp"

namespace timbre::bank {
namespace {

Result<void> check_id(std::string_view id) {
  if (!id.empty() && id.size() <= cache::kMaxIdBytes) return {};
  return Error{Status::kInvalidArgument,
               fmt::format("an id has 1 to {} bytes, this one {}", cache::kMaxIdBytes, id.size())};
}

Error timed_out(std::string_view id) {
  return {Status::kTimeout, fmt::format("voice '{}' was not there by the deadline", id)};
}

/// A hold on a layout, for a scope.
class HeldLayout {
 public:
  HeldLayout(voice::LayoutTable& table, voice::PackedLayout layout)
      : table_(table), number_(table.intern(std::move(layout))) {}
  HeldLayout(const HeldLayout&) = delete;
  HeldLayout& operator=(const HeldLayout&) = delete;
  ~HeldLayout() { table_.drop(number_); }
  [[nodiscard]] std::uint32_t number() const { return number_; }

 private:
  voice::LayoutTable& table_;
  std::uint32_t number_;
};

}  // namespace

class VoiceBank::Announced {
 public:
  Announced(FlightTable& table, std::string_view id) : write(id), table_(table) { table_.begin_write(write); }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;
  ~Announced() { table_.end_write(write); }

  Write write;

 private:
  FlightTable& table_;
};

VoiceBank::VoiceBank(const BankOptions& options, store::VoiceStore& store)
    : store_(store),
      uses_(options.expected_voices),
      device_(TierKind::kDevice, *options.device.device, options.device.cache, layouts_, departures_),
      limbo_(*options.device.device, options.stream),
      ways_{store, layouts_, device_, nullptr, options.stream, limbo_, counters_},
      flights_(ways_, options.now) {
  if (options.host.device == nullptr) return;
  ways_.host = &host_.emplace(TierKind::kHost, *options.host.device, options.host.cache, layouts_, departures_);
}

VoiceBank::~VoiceBank() {
  for (const Draining& use : draining_) static_cast<void>(device_.device.wait(use.event));
}

// ---- Reading

Result<VoiceLease> VoiceBank::get_missed(std::string_view id, const Wait& wait) {
  if (Result<void> valid = check_id(id); !valid) return std::move(valid).error();
  uses_.use(id);
  Result<FlightTable::Joined> joined = flights_.join(id, true);
  if (!joined) return std::move(joined).error();
  return wait_for(std::move(*joined), id, wait, true);
}

Result<std::optional<VoiceLease>> VoiceBank::try_missed(std::string_view id) {
  if (Result<void> valid = check_id(id); !valid) return std::move(valid).error();
  uses_.use(id);
  Result<FlightTable::Joined> joined = flights_.join(id, true);
  if (!joined) return std::move(joined).error();
  if (joined->lease) return std::optional<VoiceLease>(VoiceLease(std::move(joined->lease), layouts_));
  if (flights_.advance(joined->flight, Clock::now()) != FlightEnd::kLanded) return std::optional<VoiceLease>();
  Result<VoiceLease> voice = landed(*joined, id);
  if (!voice) return std::move(voice).error();
  return std::optional<VoiceLease>(std::move(*voice));
}

Result<VoiceLease> VoiceBank::wait_for(FlightTable::Joined joined, std::string_view id, const Wait& wait,
                                       bool is_demanded) {
  while (true) {
    if (joined.lease) return VoiceLease(std::move(joined.lease), layouts_);
    switch (flights_.await(joined.flight, wait)) {
      case FlightEnd::kLanded:
        return landed(joined, id);
      case FlightEnd::kTimedOut:
        return timed_out(id);
      case FlightEnd::kCancelled:
        return Error{Status::kCancelled, fmt::format("the wait for voice '{}' was cancelled", id)};
      case FlightEnd::kStale:
        if (wait.is_over()) return timed_out(id);
    }
    Result<FlightTable::Joined> again = flights_.join(id, is_demanded);
    if (!again) return std::move(again).error();
    if (again->is_there && !is_demanded) return VoiceLease();
    joined = std::move(*again);
  }
}

/// The lease of whoever began the flight is no use of the voice; the others' are.
Result<VoiceLease> VoiceBank::landed(const FlightTable::Joined& joined, std::string_view id) {
  const Flight& flight = *joined.flight;  // landed: nobody writes to it any more
  if (flight.error) return *flight.error;
  if (!joined.has_begun) {
    if (cache::Lease found = device_.cache.lookup(id)) return VoiceLease(std::move(found), layouts_);
  }
  return VoiceLease(flight.lease, layouts_);
}

std::optional<Error> VoiceBank::get_batch(std::span<const std::string_view> ids, std::span<VoiceLease> leases,
                                          std::span<Status> statuses, const Wait& wait) {
  constexpr std::size_t kAtOnce = 32;
  struct Row {
    std::size_t at;
    FlightTable::Joined joined;
  };
  std::vector<std::size_t> missed;
  for (std::size_t first = 0; first < ids.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, ids.size() - first);
    std::array<cache::Lease, kAtOnce> found;
    device_.cache.lookup_batch(ids.subspan(first, count), std::span(found).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (!found[i]) {
        missed.push_back(first + i);
        continue;
      }
      leases[first + i] = VoiceLease(std::move(found[i]), layouts_);
      statuses[first + i] = Status::kOk;
      uses_.use(ids[first + i]);
    }
  }
  std::optional<Error> first_error;
  std::size_t first_failed = ids.size();
  const auto settle = [&](std::size_t at, Result<VoiceLease> voice) {
    statuses[at] = voice ? Status::kOk : voice.error().status;
    leases[at] = voice ? std::move(*voice) : VoiceLease();
    if (statuses[at] == Status::kOk || at >= first_failed) return;
    first_failed = at;
    first_error = std::move(voice).error();
  };
  std::vector<Row> begun;
  for (const std::size_t at : missed) {
    Result<void> valid = check_id(ids[at]);
    Result<FlightTable::Joined> joined = valid ? flights_.join(ids[at], true) : std::move(valid).error();
    if (!joined) {
      settle(at, std::move(joined).error());
      continue;
    }
    uses_.use(ids[at]);
    if (joined->flight) static_cast<void>(flights_.advance(joined->flight, wait.deadline));
    begun.push_back({at, std::move(*joined)});
  }
  for (Row& row : begun) settle(row.at, wait_for(std::move(row.joined), ids[row.at], wait, true));
  return first_error;
}

Result<void> VoiceBank::release_on(VoiceLease& lease, device::Stream stream) {
  if (lease.own_) {
    if (Result<void> given = device_.cache.release_on(lease.own_, stream); !given) return given;
  } else if (lease.shared_) {
    const Result<device::Event> event = device_.device.record(stream);
    if (!event) return event.error();
    const std::lock_guard lock(mutex_);
    draining_.push_back({*event, lease.shared_});
  }
  lease.release();
  return {};
}

// ---- Writing

Result<store::Version> VoiceBank::put(std::string_view id, voice::VoiceRecord record,
                                      std::optional<store::Expected> expected, store::VoiceStore* into) {
  if (Result<void> valid = check_id(id); !valid) return std::move(valid).error();
  if (Result<void> checked = voice::check(record); !checked) {
    return Error{checked.error().status, fmt::format("voice '{}': {}", id, checked.error().message)};
  }
  const HeldLayout layout(layouts_, voice::layout_of(record));
  std::vector<std::byte> row(layouts_.at(layout.number()).row_bytes);
  voice::pack(record, layouts_.at(layout.number()), row);
  Announced announced(flights_, id);
  Result<store::Version> version = (into == nullptr ? store_ : *into).put(id, std::move(record), expected);
  // Also after an error: it may have been written, and a conflict says that somebody else has.
  const bool was_there = flights_.invalidate(id, &announced.write, cache::EvictionCause::kReplaced);
  if (!version) return version;
  try {
    fill(announced.write, layout.number(), row, *version,
         was_there ? cache::Admission::kDemand : cache::Admission::kQuiet);
  } catch (const std::bad_alloc&) {
    // It is stored; the next get loads it.
  }
  return version;
}

void VoiceBank::fill(const Write& write, std::uint32_t layout, std::span<const std::byte> row,
                     const store::Version& version, cache::Admission admission) {
  Tier& tier = host_ ? *host_ : device_;
  if (!tier.device.properties().host_addressable) return;
  Result<cache::Reservation> room = tier.reserve(write.id, layout, {version.sequence, version.checksum}, admission);
  if (!room || room->transient()) return;
  if (host_) {
    std::memcpy(reinterpret_cast<void*>(room->address()), row.data(), row.size());  // NOLINT: memory of this process
  } else {
    if (!tier.device.upload(room->address(), row.data(), row.size(), ways_.stream)) return;
    const Result<device::Event> sent = tier.device.record(ways_.stream);
    if (!sent || !tier.device.passed(*sent)) {
      return limbo_.add(std::move(*room), sent ? std::optional(*sent) : std::nullopt);
    }
  }
  flights_.show(write, tier, std::move(*room));
}

Result<void> VoiceBank::remove(std::string_view id) {
  if (Result<void> valid = check_id(id); !valid) return valid;
  const Announced announced(flights_, id);
  Result<void> removed = store_.remove(id);
  flights_.invalidate(id, &announced.write, cache::EvictionCause::kRemoved);
  return removed;
}

// ---- Before they are asked for, and behind

PrefetchReport VoiceBank::prefetch(std::span<const std::string_view> ids, Clock::time_point deadline) {
  constexpr std::size_t kAtOnce = 32;  // a load that has landed is leased until it is looked at
  PrefetchReport report;
  const auto settle = [&report](const Result<VoiceLease>& voice) {
    if (voice) {
      ++report.loaded;
    } else if (voice.error().status == Status::kTimeout) {
      ++report.pending;
    } else {
      ++report.failed;
      if (!report.first_error) report.first_error = voice.error();
    }
  };
  std::deque<std::pair<std::string_view, FlightTable::Joined>> begun;
  const auto settle_first = [&] {
    auto [id, joined] = std::move(begun.front());
    begun.pop_front();
    settle(wait_for(std::move(joined), id, {.deadline = deadline}, false));
  };
  for (const std::string_view id : ids) {
    Result<void> valid = check_id(id);
    Result<FlightTable::Joined> joined = valid ? flights_.join(id, false) : std::move(valid).error();
    if (!joined) {
      settle(std::move(joined).error());
    } else if (joined->is_there) {
      ++report.there;
    } else {
      joined->has_begun = true;  // no use of the voice
      if (flights_.advance(joined->flight, deadline) == FlightEnd::kLanded) {
        settle(landed(*joined, id));
      } else {
        begun.emplace_back(id, std::move(*joined));
      }
    }
    if (begun.size() == kAtOnce) settle_first();
  }
  while (!begun.empty()) settle_first();
  return report;
}

PrefetchReport VoiceBank::prefetch_top(std::size_t count, Clock::time_point deadline) {
  const std::vector<std::string> top = uses_.top(count);
  const std::vector<std::string_view> ids(top.begin(), top.end());
  return prefetch(ids, deadline);
}

std::vector<store::UseCount> VoiceBank::uses() const {
  std::vector<store::UseCount> uses;
  for (auto& [id, count] : uses_.counts(UseSketch::kTop)) uses.push_back({std::move(id), count});
  return uses;
}

void VoiceBank::seed_uses(std::span<const store::UseCount> uses) {
  for (const store::UseCount& use : uses) {
    uses_.seed(use.id, static_cast<std::uint32_t>(std::min<std::uint64_t>(use.count, UINT32_MAX)));
  }
}

void VoiceBank::poll(Clock::time_point deadline) {
  device_.cache.poll();
  if (host_) host_->cache.poll();
  limbo_.settle();
  drain();
  std::vector<std::shared_ptr<Flight>> waiting = flights_.unattended();
  std::erase_if(waiting, [&](const std::shared_ptr<Flight>& flight) {
    const FlightEnd end = flights_.advance(flight, deadline);
    if (end == FlightEnd::kLanded) note_background(*flight);
    return end != FlightEnd::kTimedOut;
  });
  for (; !waiting.empty() && Clock::now() < deadline; waiting.pop_back()) {
    if (flights_.await(waiting.back(), {.deadline = deadline}) == FlightEnd::kLanded) note_background(*waiting.back());
  }
}

void VoiceBank::note_background(const Flight& flight) {
  if (!flight.error || flight.error->status == Status::kNotFound) return;
  const std::lock_guard lock(mutex_);
  last_background_error_ = flight.error->message;
}

void VoiceBank::drain() {
  std::vector<Draining> done;  // let go without the lock
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < draining_.size();) {
    if (device_.device.passed(draining_[i].event)) {
      done.push_back(std::move(draining_[i]));
      draining_[i] = std::move(draining_.back());
      draining_.pop_back();
    } else {
      ++i;
    }
  }
}

// ---- Telling

BankStats VoiceBank::stats() {
  BankStats stats;
  stats.device = device_.cache.stats();
  if (host_) stats.host = host_->cache.stats();
  stats.loads = counters_.loads.load(std::memory_order_relaxed);
  stats.promotions = counters_.promotions.load(std::memory_order_relaxed);
  stats.load_failures = counters_.failures.load(std::memory_order_relaxed);
  stats.stale_flights = counters_.stale.load(std::memory_order_relaxed);
  stats.refused_records = counters_.refused_records.load(std::memory_order_relaxed);
  stats.not_found = counters_.not_found.load(std::memory_order_relaxed);
  stats.negative_hits = counters_.negative_hits.load(std::memory_order_relaxed);
  stats.open_flights = flights_.open_count();
  stats.waiters = flights_.waiter_count();
  stats.layouts = layouts_.size();
  stats.rooms_in_limbo = limbo_.settle();
  const std::lock_guard lock(mutex_);
  stats.last_background_error = last_background_error_;
  return stats;
}

TierReport VoiceBank::report(Tier& tier, TierKind kind, std::string_view id) {
  TierReport report;
  report.last_departure = departures_.last(id, kind);
  const std::optional<cache::EntryInfo> found = tier.cache.peek(id);
  if (!found) return report;
  report.is_there = true;
  report.version = found->version;
  report.bytes = found->bytes;
  report.leases = found->leases;
  return report;
}

VoiceReport VoiceBank::explain(std::string_view id) {
  VoiceReport told;
  told.device = report(device_, TierKind::kDevice, id);
  if (host_) told.host = report(*host_, TierKind::kHost, id);
  const FlightTable::Facts facts = flights_.facts(id);
  told.is_loading = facts.is_loading;
  told.is_known_missing = facts.is_known_missing;
  told.recent_uses = uses_.estimate(id);
  return told;
}

}  // namespace timbre::bank
