// SPDX-License-Identifier: MIT
//
// VoiceTiers: where an engine's voices are: the store, the cache in the device's memory over it, and the governor that
// sizes the cache. Speech takes its voices from here.
//
// Invariant: leases keep it alive beyond the engine. After close() nothing is loaded any more.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "bank/governor.hpp"
#include "bank/voice_bank.hpp"
#include "store/memory_store.hpp"
#include "timbre/device/host_device.hpp"
#include "voice/voice_source.hpp"

namespace timbre::capi {

struct TiersOptions {
  std::optional<std::uint64_t> device_cache_bytes;  ///< nothing: what free memory allows
  cache::PolicyKind policy = cache::PolicyKind::kAuto;
};

/// A voice as speech wants it: the record of a lease, with the bytes of its vector "g" alone.
[[nodiscard]] voice::Voice voice_of(const bank::VoiceLease& lease);

/// Thread safety: all members from any thread.
class VoiceTiers final : public voice::VoiceSource {
 public:
  /// Errors: kOutOfMemory.
  static Result<std::shared_ptr<VoiceTiers>> make(const TiersOptions& options);

  [[nodiscard]] bank::VoiceBank& bank() { return *bank_; }
  [[nodiscard]] store::VoiceStore& store() { return store_; }
  [[nodiscard]] bank::Governor& governor() { return *governor_; }
  [[nodiscard]] device::Device& device() { return *device_; }

  /// A wait that ends with close().
  [[nodiscard]] bank::Wait wait_until(bank::Clock::time_point deadline) const { return {deadline, &closed_}; }
  void close() { closed_.store(true); }

  /// Readings, loads that nobody waits for, leases given back on streams. @return whether something was left at the
  /// deadline.
  bool work(bank::Clock::time_point deadline);

  /// An export whose bytes were changed: the voice goes from the cache.
  void drop_written(std::string_view id);
  [[nodiscard]] std::uint64_t written_exports() const { return written_exports_.load(std::memory_order_relaxed); }

  Result<std::optional<voice::Voice>> try_get(std::string_view id) override;
  Result<voice::Voice> get(std::string_view id) override;

 private:
  VoiceTiers() = default;

  std::atomic<bool> closed_{false};
  std::atomic<std::uint64_t> written_exports_{0};
  store::MemoryStore store_;
  std::unique_ptr<device::HostDevice> device_;
  std::unique_ptr<bank::VoiceBank> bank_;
  std::unique_ptr<bank::Governor> governor_;
};

}  // namespace timbre::capi
