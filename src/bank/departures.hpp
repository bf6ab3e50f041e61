// SPDX-License-Identifier: MIT
//
// Departures: how the last voices left their tiers, for explain().
//
// Invariant: a ring of kMost; an older departure is forgotten, a voice that is not in it may still have left.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "bank/wait.hpp"
#include "timbre/cache/stats.hpp"

namespace timbre::bank {

enum class TierKind : std::uint8_t { kDevice, kHost };

/// How a voice left a tier.
struct Departure {
  TierKind tier = TierKind::kDevice;
  cache::EvictionCause cause = cache::EvictionCause::kRoom;
  Clock::time_point when;
};

/// Thread safety: all members from any thread. Ids are told apart by 64 bits of hash: good enough for an explanation.
class Departures {
 public:
  static constexpr std::size_t kMost = 1024;

  void add(std::string_view id, TierKind tier, cache::EvictionCause cause) noexcept {
    const std::lock_guard lock(mutex_);
    ring_[next_ % kMost] = {hash(id), {tier, cause, Clock::now()}};
    ++next_;
  }

  /// The last departure of this id from this tier, if it is remembered.
  [[nodiscard]] std::optional<Departure> last(std::string_view id, TierKind tier) const {
    const std::uint64_t wanted = hash(id);
    const std::lock_guard lock(mutex_);
    for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(next_, kMost); ++back) {
      const Remembered& there = ring_[(next_ - back) % kMost];
      if (there.hash == wanted && there.departure.tier == tier) return there.departure;
    }
    return std::nullopt;
  }

 private:
  struct Remembered {
    std::uint64_t hash = 0;
    Departure departure;
  };
  static std::uint64_t hash(std::string_view id) noexcept { return std::hash<std::string_view>{}(id); }

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::array<Remembered, kMost> ring_;
  std::uint64_t next_ = 0;
};

}  // namespace timbre::bank
