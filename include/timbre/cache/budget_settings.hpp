// SPDX-License-Identifier: MIT
//
// The constants by which a budget follows free memory, each with where it comes from, and the reasons that are given
// for a budget.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "timbre/core/result.hpp"

namespace timbre::cache {

/// Where no source is named, the number is our own choice.
struct BudgetSettings {
  static constexpr std::uint64_t kNoCap = UINT64_MAX;
  static constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

  std::uint64_t cap_bytes = kNoCap;  ///< the host's; 0 works: nothing is kept
  double cold_fraction = 0.5;        ///< f while the synthesizer has not warmed up: what it will take is not known
  double warm_fraction = 0.8;        ///< f afterwards; ollama loads up to this part of what is free, too
  /// The headroom is the largest of these four, the last being what an allocation of others lately lacked. llama.cpp
  /// leaves 1,024 MiB for each device, ollama 457 MiB, ComfyUI 1.2 GiB.
  std::uint64_t headroom_bytes = 512 * kMiB;
  double headroom_fraction = 0.05;     ///< of the total
  std::uint64_t workspace_bytes = 0;   ///< that the synthesizer has declared
  std::chrono::seconds shortage{600};  ///< how long a lack is remembered
  /// Less free than this is pressure: no hysteresis. At most half of the headroom counts.
  std::uint64_t low_water_bytes = 256 * kMiB;
  /// The budget rises only where this is free. At most the headroom counts.
  std::uint64_t high_water_bytes = 512 * kMiB;
  /// A difference to the target of at most this part of the budget changes nothing, nor does one of a quarter of the
  /// headroom. CacheLib's memory monitor has a lower and an upper limit for the same reason.
  double hysteresis = 1.0 / 16;
  std::chrono::milliseconds grow_delay{30'000};
  double grow_fraction = 1.0 / 64;                ///< of the total, for each step
  std::uint64_t grow_bytes = 16 * kMiB;           ///< a step has at least so many
  std::chrono::milliseconds grow_interval{1000};  ///< between two steps
  std::uint64_t blind_bytes = 64 * kMiB;          ///< the budget before any reading; 50,000 voices of 1,280 bytes
};

/// kInvalidArgument names a fraction that is not within 0..1, or a time that is negative.
[[nodiscard]] Result<void> check(const BudgetSettings& settings);

/// Why the budget is what it is.
enum class BudgetReason : std::uint8_t {
  kBlind,          ///< nothing was read yet
  kCap,            ///< all that the host allows
  kFreeMemory,     ///< all that the formula allows
  kPressure,       ///< less is free than the low water
  kLeases,         ///< less would be right, but leases hold it
  kHysteresis,     ///< the formula says something else, but not by much
  kHighWater,      ///< the formula allows more, but less is free than the high water
  kGrowDelay,      ///< more is allowed, but not for long enough yet
  kGrowing,        ///< on the way up, a step at a time
  kUnconfirmed,    ///< the last reading was too sudden: the next one must agree
  kImpossible,     ///< the last reading cannot be
  kReadingFailed,  ///< there was no reading
  kUnsupported,    ///< there will never be one: the cap alone counts
  kTrim,           ///< the host asked for bytes
  kSetBudget,      ///< the host set a smaller cap
  kOutOfMemory,    ///< an allocation failed for want of memory
};
inline constexpr std::size_t kBudgetReasonCount = 16;

/// As in the enumeration, in words: "free memory". Static.
[[nodiscard]] std::string_view name_of(BudgetReason reason);

inline Result<void> check(const BudgetSettings& settings) {
  const auto fraction = [](const char* name, double value) -> Result<void> {
    if (value >= 0 && value <= 1) return {};
    return Error{Status::kInvalidArgument,
                 std::string("budget: ") + name + " is " + std::to_string(value) + ", expected 0 to 1"};
  };
  if (auto good = fraction("cold_fraction", settings.cold_fraction); !good) return good;
  if (auto good = fraction("warm_fraction", settings.warm_fraction); !good) return good;
  if (auto good = fraction("headroom_fraction", settings.headroom_fraction); !good) return good;
  if (auto good = fraction("hysteresis", settings.hysteresis); !good) return good;
  if (auto good = fraction("grow_fraction", settings.grow_fraction); !good) return good;
  if (settings.shortage.count() < 0 || settings.grow_delay.count() < 0 || settings.grow_interval.count() < 0) {
    return Error{Status::kInvalidArgument, "budget: a time is negative"};
  }
  return {};
}

inline std::string_view name_of(BudgetReason reason) {
  static constexpr std::array<std::string_view, kBudgetReasonCount> kNames = {"no reading yet",
                                                                              "cap",
                                                                              "free memory",
                                                                              "pressure",
                                                                              "leases",
                                                                              "hysteresis",
                                                                              "high water",
                                                                              "grow delay",
                                                                              "growing",
                                                                              "unconfirmed reading",
                                                                              "impossible reading",
                                                                              "reading failed",
                                                                              "unsupported",
                                                                              "trim",
                                                                              "set budget",
                                                                              "out of memory"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace timbre::cache
