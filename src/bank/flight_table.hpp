// SPDX-License-Identifier: MIT
//
// FlightTable: the open flights by id, what is known not to exist, and the writes under way.
//
// Invariants
//   * At most one open flight for an id. It is on the table from before its first read until it has landed or is stale.
//   * Landing (publish, leave the table) and invalidation (leave the table, leave the tiers) exclude each other.
//   * No lock is held while a flight is worked on.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bank/flight.hpp"
#include "bank/negative_entries.hpp"

namespace timbre::bank {

/// A write of one id, on the table from before the store is written until the tiers are.
struct Write {
  explicit Write(std::string_view of) : id(of) {}
  const std::string id;
  bool is_stale = false;  ///< guarded by the table: another write of the id was invalidated meanwhile
};

/// How a wait for a flight ended.
enum class FlightEnd : std::uint8_t { kLanded, kStale, kTimedOut, kCancelled };

/// Thread safety: all members from any thread.
class FlightTable {
 public:
  using Now = std::function<Clock::time_point()>;
  static constexpr std::size_t kMostUnattended = 4096;

  FlightTable(Ways& ways, Now now) : ways_(ways), now_(std::move(now)) {}

  /// What a miss has found: a lease after all, a flight, or the error kNotFound of a negative entry.
  struct Joined {
    cache::Lease lease;
    bool is_there = false;  ///< for a prefetch, in place of a lease
    std::shared_ptr<Flight> flight;
    bool has_begun = false;  ///< the flight is the caller's
  };
  /// @param is_demanded  false: a prefetch.
  [[nodiscard]] Result<Joined> join(std::string_view id, bool is_demanded);

  /// Waits for a flight, and works on it where nobody else does.
  FlightEnd await(const std::shared_ptr<Flight>& flight, const Wait& wait);
  /// One step of a flight's work where nobody else is at it; waits for nothing.
  FlightEnd advance(const std::shared_ptr<Flight>& flight, Clock::time_point caller_deadline);

  /// The id's flight is stale, its negative entry gone, and the tiers have it no more.
  /// @param own  the write that says so, which stays good. @return whether a tier had it.
  bool invalidate(std::string_view id, const Write* own, cache::EvictionCause cause);
  /// As invalidate(), for every id.
  void invalidate_all();

  void begin_write(Write& write);
  void end_write(Write& write);
  /// Shows what a write has brought, unless it is stale. @return whether it did.
  bool show(const Write& write, Tier& tier, cache::Reservation&& room);

  /// Flights for which nobody waits.
  [[nodiscard]] std::vector<std::shared_ptr<Flight>> unattended();

  struct Facts {
    bool is_loading = false;
    bool is_known_missing = false;
  };
  [[nodiscard]] Facts facts(std::string_view id);
  /// Callers that wait for flights now.
  [[nodiscard]] std::size_t waiter_count();
  [[nodiscard]] std::size_t open_count() const { return open_count_.load(std::memory_order_relaxed); }

 private:
  struct IdHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const noexcept { return std::hash<std::string_view>{}(id); }
  };
  struct Shard {
    std::mutex mutex;
    // Guarded by mutex.
    std::unordered_map<std::string, std::shared_ptr<Flight>, IdHash, std::equal_to<>> flights;
    NegativeEntries missing;
    std::vector<Write*> writes;
  };
  static constexpr std::size_t kShards = 16;
  static constexpr std::chrono::seconds kNegativeLife{1};

  [[nodiscard]] Shard& shard(std::string_view id) { return shards_[IdHash{}(id) % kShards]; }
  void work(Flight& flight, Clock::time_point deadline, Clock::time_point caller_deadline);
  void land(Flight& flight, const Result<Loading::Progress>& worked);
  void leave(const std::shared_ptr<Flight>& flight, std::unique_lock<std::mutex>& lock);
  void discard_unattended(const std::shared_ptr<Flight>& flight);
  /// With the shard's lock held.
  void make_stale(Flight& flight);

  Ways& ways_;
  Now now_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> open_count_{0};
};

}  // namespace timbre::bank
