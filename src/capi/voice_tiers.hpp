// SPDX-License-Identifier: MIT
//
// VoiceTiers: where an engine's voices are: the store, the cache in the device's memory over it, and the governor that
// sizes the cache. Speech takes its voices from here.
//
// Invariants
//   * Leases keep it alive beyond the engine. After close() nothing is loaded any more.
//   * What others write to the store is seen by the next work(): no cached voice outlives that.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bank/governor.hpp"
#include "bank/lease_source.hpp"
#include "bank/voice_bank.hpp"
#include "capi/store_keeper.hpp"
#include "timbre/device/host_device.hpp"

namespace timbre::capi {

struct TiersOptions {
  std::optional<std::uint64_t> device_cache_bytes;  ///< nothing: what free memory allows
  cache::PolicyKind policy = cache::PolicyKind::kAuto;
  KeeperOptions store;
};

/// Thread safety: all members from any thread.
class VoiceTiers {
 public:
  /// Errors: kOutOfMemory; those of the store's opening.
  static Result<std::shared_ptr<VoiceTiers>> make(const TiersOptions& options);

  [[nodiscard]] bank::VoiceBank& bank() { return *bank_; }
  [[nodiscard]] StoreKeeper& keeper() { return *keeper_; }
  [[nodiscard]] bank::Governor& governor() { return *governor_; }
  [[nodiscard]] device::Device& device() { return *device_; }
  /// Where speech gets its voices.
  [[nodiscard]] bank::LeaseSource& source() { return *source_; }

  /// A wait that ends with close().
  [[nodiscard]] bank::Wait wait_until(bank::Clock::time_point deadline) const { return {deadline, &closed_}; }
  void close() { closed_.store(true); }

  /// Readings, loads that nobody waits for, leases given back on streams, what others have written to the store.
  /// @return whether something was left at the deadline.
  bool work(bank::Clock::time_point deadline);
  /// How long work() may rest.
  [[nodiscard]] std::chrono::milliseconds rest() const;

  /// An export whose bytes were changed: the voice goes from the cache.
  void drop_written(std::string_view id);
  [[nodiscard]] std::uint64_t written_exports() const { return written_exports_.load(std::memory_order_relaxed); }

 private:
  VoiceTiers() = default;

  std::atomic<bool> closed_{false};
  std::atomic<std::uint64_t> written_exports_{0};
  std::unique_ptr<StoreKeeper> keeper_;
  std::unique_ptr<device::HostDevice> device_;
  std::unique_ptr<bank::VoiceBank> bank_;
  std::unique_ptr<bank::Governor> governor_;
  std::unique_ptr<bank::LeaseSource> source_;
};

}  // namespace timbre::capi
