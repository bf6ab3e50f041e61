// SPDX-License-Identifier: MIT
//
// Tier: a cache of packed voices in the memory of one device.
//
// Invariant: every entry's note is the number of its layout, and the entry has a hold on it.
#pragma once

#include <cstdint>
#include <string_view>

#include "bank/departures.hpp"
#include "timbre/cache/voice_cache.hpp"
#include "timbre/device/device.hpp"
#include "voice/layout_table.hpp"

namespace timbre::bank {

/// Thread safety: all members from any thread. Device, layouts and departures outlive the tier.
class Tier {
 public:
  Tier(TierKind kind, device::Device& memory, const cache::CacheOptions& options, voice::LayoutTable& layouts,
       Departures& departures)
      : device(memory), cache(memory, noting(options, kind, layouts, departures)), layouts_(layouts) {}

  /// Room for a voice of this layout, whose number the caller holds. Errors: those of VoiceCache::reserve().
  [[nodiscard]] Result<cache::Reservation> reserve(std::string_view id, std::uint32_t layout,
                                                   const cache::Version& version, cache::Admission admission) {
    layouts_.hold(layout);
    Result<cache::Reservation> room = cache.reserve(id, layouts_.at(layout).row_bytes, version, admission, layout);
    if (!room) layouts_.drop(layout);
    return room;
  }

  /// Whether the budget would hold so many bytes if nothing else were there.
  [[nodiscard]] bool could_hold(std::uint64_t bytes) {
    const std::uint64_t page = device.properties().page_bytes;
    return (bytes + page - 1) / page * page <= cache.budget_bytes();
  }

  device::Device& device;
  cache::VoiceCache cache;

 private:
  static cache::CacheOptions noting(cache::CacheOptions options, TierKind kind, voice::LayoutTable& layouts,
                                    Departures& departures) {
    options.note_gone = [&layouts](std::uint32_t layout) { layouts.drop(layout); };
    options.entry_gone = [&departures, kind](std::string_view id, cache::EvictionCause cause) {
      departures.add(id, kind, cause);
    };
    return options;
  }

  voice::LayoutTable& layouts_;
};

}  // namespace timbre::bank
