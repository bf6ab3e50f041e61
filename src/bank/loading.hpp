// SPDX-License-Identifier: MIT
//
// Loading: the work of a flight, step by step: host tier or store, room, upload, publication.
//
// Invariants
//   * One thread at a time works; it waits no longer than it is told to.
//   * Nothing is visible before publish(). Dropped, it leaves nothing but a room in limbo whose upload still runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bank/limbo.hpp"
#include "bank/tier.hpp"
#include "bank/wait.hpp"
#include "store/voice_store.hpp"

namespace timbre::bank {

/// What has happened on the way of misses. Relaxed counters.
struct FlightCounters {
  std::atomic<std::uint64_t> loads{0};            ///< reads of the store that were begun
  std::atomic<std::uint64_t> promotions{0};       ///< host tier to device tier, begun
  std::atomic<std::uint64_t> failures{0};         ///< flights that landed with an error other than "not found"
  std::atomic<std::uint64_t> stale{0};            ///< flights whose work was thrown away
  std::atomic<std::uint64_t> refused_records{0};  ///< what a store gave that no check() passes
  std::atomic<std::uint64_t> not_found{0};        ///< answered by the store
  std::atomic<std::uint64_t> negative_hits{0};    ///< answered by a negative entry
};

/// Where flights read and land.
struct Ways {
  store::VoiceStore& store;
  voice::LayoutTable& layouts;
  Tier& device;
  Tier* host;  // null: one tier
  device::Stream stream;
  Limbo& limbo;
  FlightCounters& counters;
};

class Loading {
 public:
  enum class Progress : std::uint8_t { kPending, kReady };

  Loading(Ways& ways, std::string_view id) : ways_(ways), id_(id) {}
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;
  ~Loading();

  /// Works until `deadline` at most; with one that has passed it waits for nothing.
  /// @param caller_deadline  until when to wait for room, if that could come.
  /// @return kReady: publish() is next. Error: of the store, of a record that no check() passes (kFormat), of memory.
  [[nodiscard]] Result<Progress> pump(Clock::time_point deadline, Clock::time_point caller_deadline,
                                      cache::Admission admission);

  /// Shows the voice in the tiers. Under the lock of the flight table.
  [[nodiscard]] Result<cache::Lease> publish();

 private:
  enum class Stage : std::uint8_t { kBegin, kReading, kRoom, kUploading, kReady };

  Result<Progress> step(Clock::time_point deadline, Clock::time_point caller_deadline, cache::Admission admission);
  Result<void> begin();
  Result<Progress> read(Clock::time_point deadline, cache::Admission admission);
  Result<void> take_record(const store::StoredVoice& voice, cache::Admission admission);
  Result<Progress> find_room(Clock::time_point deadline, Clock::time_point caller_deadline, cache::Admission admission);
  Result<void> send();
  Progress await_upload(Clock::time_point deadline);
  [[nodiscard]] const void* source() const;

  Ways& ways_;
  std::string id_;
  Stage stage_ = Stage::kBegin;
  std::unique_ptr<store::VoiceLoad> load_;
  cache::Version version_;
  std::uint32_t layout_ = 0;                       // held unless there is a host lease, whose entry holds it
  cache::Lease host_lease_;                        // a promotion's source
  std::optional<cache::Reservation> host_room_;    // a load's source, and what the host tier will show
  std::vector<std::byte> packed_;                  // a load's source where the host tier has no room
  std::optional<cache::Reservation> device_room_;  // the destination
  std::optional<device::Event> sent_;              // behind the upload
  std::optional<Clock::time_point> room_deadline_;
};

}  // namespace timbre::bank
