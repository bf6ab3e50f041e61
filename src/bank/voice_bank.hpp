// SPDX-License-Identifier: MIT
//
// VoiceBank: one call from an id to a leased voice, over a device tier, perhaps a host tier, and a store.
// docs/bank.md tells how.
//
// Invariants
//   * Never a wrong voice: a miss is a wait or an error with its reason. Who has put a voice gets that version, or a
//     later one.
//   * A hit is the cache's hit: no lock, no allocation, no shared line but the entry's own; one use in 16 is counted.
//   * The bank has no thread. Who waits for a load works on it; poll() does what nobody waits for.
//   * What happens to the tiers never makes a write fail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bank/departures.hpp"
#include "bank/flight_table.hpp"
#include "bank/tier.hpp"
#include "bank/use_sketch.hpp"
#include "bank/voice_lease.hpp"
#include "bank/wait.hpp"
#include "store/voice_store.hpp"

namespace timbre::bank {

struct TierOptions {
  device::Device* device = nullptr;  ///< outlives the bank
  cache::CacheOptions cache;         ///< note_gone and entry_gone are the bank's
};

struct BankOptions {
  TierOptions device;
  /// Between device and store: memory that this process addresses. No device: one tier, as where the device is the CPU.
  TierOptions host;
  device::Stream stream = device::Stream::kDefault;  ///< of the uploads
  std::size_t expected_voices = 65'536;              ///< sizes the use sketch: two bytes for each
  /// The time that negative entries live by; tests turn it. Deadlines are times of the steady clock.
  std::function<Clock::time_point()> now = [] { return Clock::now(); };
};

/// What became of the ids of a prefetch.
struct PrefetchReport {
  std::uint64_t there = 0;    ///< in the device tier already
  std::uint64_t loaded = 0;   ///< now
  std::uint64_t pending = 0;  ///< poll() goes on with them
  std::uint64_t failed = 0;   ///< not found, or an error
  std::optional<Error> first_error;
};

struct BankStats {
  cache::CacheStats device;
  std::optional<cache::CacheStats> host;
  std::uint64_t loads = 0;            ///< reads of the store that were begun
  std::uint64_t promotions = 0;       ///< host tier to device tier
  std::uint64_t load_failures = 0;    ///< without those that were not found
  std::uint64_t stale_flights = 0;    ///< overtaken by a write, or nobody waited for them
  std::uint64_t refused_records = 0;  ///< of the store, that no check passes
  std::uint64_t not_found = 0;        ///< by the store
  std::uint64_t negative_hits = 0;    ///< by a negative entry
  std::uint64_t open_flights = 0;
  std::uint64_t waiters = 0;  ///< callers that wait for one now
  std::uint64_t layouts = 0;
  std::uint64_t rooms_in_limbo = 0;   ///< uploads without end that nobody waits for
  std::string last_background_error;  ///< of poll(); empty: none so far
};

/// A voice in a tier.
struct TierReport {
  bool is_there = false;
  cache::Version version;
  std::uint64_t bytes = 0;
  std::uint64_t leases = 0;
  std::optional<Departure> last_departure;  ///< if it is remembered
};

/// Why a voice is where it is.
struct VoiceReport {
  TierReport device;
  std::optional<TierReport> host;
  bool is_loading = false;        ///< a flight is open
  bool is_known_missing = false;  ///< a negative entry holds
  std::uint32_t recent_uses = 0;  ///< of the sample, 0..15
};

/// Thread safety: all members may be called from any thread, but for the destructor. Leases must be gone before the
/// bank.
class VoiceBank {
 public:
  /// @param store  outlives the bank.
  VoiceBank(const BankOptions& options, store::VoiceStore& store);
  VoiceBank(const VoiceBank&) = delete;
  VoiceBank& operator=(const VoiceBank&) = delete;
  ~VoiceBank();

  /// The voice if it is in the device tier, or no lease.
  [[nodiscard]] VoiceLease find(std::string_view id) {
    cache::Lease hit = device_.cache.lookup(id);
    if (!hit) return {};
    uses_.use(id);
    return VoiceLease(std::move(hit), layouts_);
  }

  /// The voice, loaded if it must be. Errors: kNotFound; kInvalidArgument (an id of 0 or more than 512 bytes); kTimeout
  /// and kCancelled, which end this wait only; kFormat (what the store holds passes no check); kOutOfMemory (the device
  /// has nothing left, not even outside the budget); the store's.
  [[nodiscard]] Result<VoiceLease> get(std::string_view id, const Wait& wait = {}) {
    if (VoiceLease hit = find(id)) return hit;
    return get_missed(id, wait);
  }

  /// What can be told without waiting: the voice, an error (kNotFound for certain), or nothing yet. Asking again goes
  /// on with the load.
  [[nodiscard]] Result<std::optional<VoiceLease>> try_get(std::string_view id) {
    if (VoiceLease hit = find(id)) return std::optional<VoiceLease>(std::move(hit));
    return try_missed(id);
  }

  /// One get for each id, in one wait: all loads begin before any is waited for. An id may stand there more than once.
  /// @param leases, statuses  as long as `ids`. A row has a lease, or the status of its error.
  /// @return the error of the first row that has one.
  std::optional<Error> get_batch(std::span<const std::string_view> ids, std::span<VoiceLease> leases,
                                 std::span<Status> statuses, const Wait& wait = {});

  /// Gives back a lease that work on `stream` may still use. Error: the device's, and the lease is still there.
  [[nodiscard]] Result<void> release_on(VoiceLease& lease, device::Stream stream);

  /// Stores a voice and shows it. Errors: kInvalidArgument (a record that no check passes, an id as above), kConflict,
  /// the store's. After an error other than these nobody knows whether the store has it; the tiers have neither
  /// version.
  /// @param into  the store that keeps it, of whose voices the bank's store gives; null: the bank's store itself.
  [[nodiscard]] Result<store::Version> put(std::string_view id, voice::VoiceRecord record,
                                           std::optional<store::Expected> expected = {},
                                           store::VoiceStore* into = nullptr);

  /// Errors: kNotFound; the store's.
  [[nodiscard]] Result<void> remove(std::string_view id);

  /// As VoiceStore::list().
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                      std::size_t limit) {
    return store_.list(prefix, cursor, limit);
  }

  /// Somebody else has changed the voice, or any voice: what the tiers have of it is not current.
  void invalidate(std::string_view id) { flights_.invalidate(id, nullptr, cache::EvictionCause::kRemoved); }
  void invalidate_all() { flights_.invalidate_all(); }

  /// Brings voices into the device tier, quietly: where the next victims are. Waits until `deadline` at most.
  PrefetchReport prefetch(std::span<const std::string_view> ids, Clock::time_point deadline);
  /// The same for the `count` voices that were used most (at most 256).
  PrefetchReport prefetch_top(std::size_t count, Clock::time_point deadline);

  /// The voices that were used most, at most 256, with counts that fade; and the same of an earlier run, to begin with.
  [[nodiscard]] std::vector<store::UseCount> uses() const;
  void seed_uses(std::span<const store::UseCount> uses);

  /// Background work, until `deadline` at most: loads that nobody waits for, leases given back on streams.
  void poll(Clock::time_point deadline);

  /// Gives `bytes` of the device tier back, if leases allow it. @return how many bytes went.
  std::uint64_t trim(std::uint64_t bytes) { return device_.cache.trim(bytes); }

  /// Walks all entries under the miss locks: not for every frame.
  [[nodiscard]] BankStats stats();
  [[nodiscard]] VoiceReport explain(std::string_view id);

  /// For those who size them.
  [[nodiscard]] Tier& device_tier() { return device_; }
  [[nodiscard]] Tier* host_tier() { return host_ ? &*host_ : nullptr; }

 private:
  struct Draining {
    device::Event event;
    std::shared_ptr<const cache::Lease> lease;
  };
  class Announced;  // a write, on the table as long as it lives

  [[nodiscard]] Result<VoiceLease> get_missed(std::string_view id, const Wait& wait);
  [[nodiscard]] Result<std::optional<VoiceLease>> try_missed(std::string_view id);
  [[nodiscard]] Result<VoiceLease> wait_for(FlightTable::Joined joined, std::string_view id, const Wait& wait,
                                            bool is_demanded);
  [[nodiscard]] Result<VoiceLease> landed(const FlightTable::Joined& joined, std::string_view id);
  void fill(const Write& write, std::uint32_t layout, std::span<const std::byte> row, const store::Version& version,
            cache::Admission admission);
  void drain();
  void note_background(const Flight& flight);
  [[nodiscard]] TierReport report(Tier& tier, TierKind kind, std::string_view id);

  store::VoiceStore& store_;
  // In this order they are made, and end in the other: flights drop rooms into limbo, and these belong to the tiers.
  voice::LayoutTable layouts_;
  Departures departures_;
  UseSketch uses_;
  Tier device_;
  std::optional<Tier> host_;
  Limbo limbo_;
  FlightCounters counters_;
  Ways ways_;
  FlightTable flights_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<Draining> draining_;  // shared leases given back on a stream
  std::string last_background_error_;
};

}  // namespace timbre::bank
