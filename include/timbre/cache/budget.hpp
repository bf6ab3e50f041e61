// SPDX-License-Identifier: MIT
//
// BudgetRule: how many bytes a cache may hold, from readings of free memory. No clock, no thread, no system call: the
// same readings at the same times give the same budgets. docs/budget.md has the formula and the states in one table.
//
//   target = min(cap, f x min(free + held, total) - headroom)        never below 0
//
// The budget falls to the target at once, and rises to it slowly. Readings are not believed blindly: what cannot be
// never makes the cache larger, and what is too sudden to be likely counts only when it is said twice.
//
// Invariants, after every call
//   * budget <= cap; and budget <= total, once a reading was accepted. No subtraction passes 0, no sum passes 2^64.
//   * A reading lowers the budget only as far as leases allow: evicting what is in use is impossible.
//   * The budget rises by a step at a time, only in readings that have allowed it for `grow_delay`; except for the
//     first reading, and the first one after the host has asked for more.
//
// Thread safety: none; the governor has the lock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "timbre/cache/budget_settings.hpp"
#include "timbre/core/status.hpp"
#include "timbre/device/device.hpp"

namespace timbre::cache {

/// What the pools of a cache have; without transient entries, which are outside of its budget.
struct BudgetUsage {
  std::uint64_t held_bytes = 0;    ///< taken from the memory that is read
  std::uint64_t leased_bytes = 0;  ///< of them, what leases hold; asked for only where target_bytes() < held_bytes
};

struct BudgetDecision {
  std::uint64_t budget_bytes = 0;
  BudgetReason reason = BudgetReason::kBlind;
  bool at_floor = false;  ///< leases held more than the target
};

class BudgetRule {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// @param settings  as check() allows.
  explicit BudgetRule(const BudgetSettings& settings)
      : settings_(settings),
        decision_{std::min(settings.cap_bytes, settings.blind_bytes), BudgetReason::kBlind, false} {}

  [[nodiscard]] const BudgetDecision& decision() const { return decision_; }
  [[nodiscard]] std::uint64_t cap_bytes() const { return settings_.cap_bytes; }
  [[nodiscard]] std::uint64_t headroom_bytes(std::uint64_t total_bytes, Instant time) const;

  /// What the formula allows, pressure included, for a reading that may be impossible.
  [[nodiscard]] std::uint64_t target_bytes(const device::MemoryReading& reading, std::uint64_t held_bytes,
                                           Instant time) const;

  /// A reading: free and total bytes of the memory, while the cache held `usage`. Times do not go back.
  const BudgetDecision& read(const device::MemoryReading& reading, const BudgetUsage& usage, Instant time);

  /// There was no reading. Unless there will never be one (kUnsupported), the budget stays.
  const BudgetDecision& fail(Status status, Instant time);

  /// The host's cap: in force at once where it is lower, from the next reading on where it is higher.
  const BudgetDecision& set_cap(std::uint64_t bytes, Instant time);

  /// Somebody was given bytes back: the budget is at most this from now on, and rises again only slowly.
  const BudgetDecision& lower(std::uint64_t bytes, BudgetReason reason);

  /// An allocation of so many bytes has failed: the headroom is no less for a while.
  void remember_shortage(std::uint64_t bytes, Instant time);

  /// Whether the synthesizer has taken what it needs.
  void set_warm(bool warm) { warm_ = warm; }
  void set_workspace(std::uint64_t bytes) { settings_.workspace_bytes = bytes; }

 private:
  static constexpr std::uint64_t kMaxTotalBytes = std::uint64_t{1} << 52U;  // more is an underflow somewhere

  static std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
  /// Of at most 2^52 bytes, which a double holds exactly; larger numbers (caps) may be off by rounding.
  static std::uint64_t part(double fraction, std::uint64_t bytes) {
    return std::min(bytes, static_cast<std::uint64_t>(fraction * static_cast<double>(std::min(bytes, kMaxTotalBytes))));
  }
  static bool differ_twofold(std::uint64_t a, std::uint64_t b) { return a / 2 >= b || b / 2 >= a; }

  static bool is_impossible(const device::MemoryReading& reading) {
    return reading.total_bytes == 0 || reading.total_bytes > kMaxTotalBytes || reading.free_bytes > reading.total_bytes;
  }
  [[nodiscard]] bool is_sudden(const device::MemoryReading& reading) const;

  const BudgetDecision& stay(BudgetReason reason);
  const BudgetDecision& fall_to(std::uint64_t target, std::uint64_t floor, BudgetReason reason);
  const BudgetDecision& rise_to(std::uint64_t target, std::uint64_t step, Instant time);
  /// Towards the target of a reading that is believed.
  const BudgetDecision& approach(std::uint64_t target, const device::MemoryReading& reading, const BudgetUsage& usage,
                                 Instant time);

  BudgetSettings settings_;
  BudgetDecision decision_;
  bool warm_ = false;
  bool at_once_ = true;   // the next reading that is believed sets the budget up, too
  bool growing_ = false;  // a step was taken, and the target is not reached
  bool unsupported_ = false;
  std::optional<Instant> allowed_since_;  // since then every reading has allowed more
  std::optional<Instant> last_step_;
  std::optional<device::MemoryReading> accepted_;
  std::optional<device::MemoryReading> doubted_;
  std::uint64_t shortage_bytes_ = 0;
  Instant shortage_end_{};
};

inline std::uint64_t BudgetRule::headroom_bytes(std::uint64_t total_bytes, Instant time) const {
  const std::uint64_t lately = time < shortage_end_ ? shortage_bytes_ : 0;
  return std::max(
      {settings_.headroom_bytes, part(settings_.headroom_fraction, total_bytes), settings_.workspace_bytes, lately});
}

inline std::uint64_t BudgetRule::target_bytes(const device::MemoryReading& reading, std::uint64_t held_bytes,
                                              Instant time) const {
  const std::uint64_t total = std::min(reading.total_bytes, kMaxTotalBytes);
  const std::uint64_t free = std::min(reading.free_bytes, total);
  const std::uint64_t held = std::min(held_bytes, total);
  const std::uint64_t headroom = headroom_bytes(total, time);
  // What is held need not lie in the memory that is read (pages that nobody has touched), so the sum may pass the
  // total.
  const std::uint64_t available = std::min(free + held, total);
  const double fraction = warm_ ? settings_.warm_fraction : settings_.cold_fraction;
  const std::uint64_t target = std::min(settings_.cap_bytes, minus(part(fraction, available), headroom));
  const std::uint64_t low_water = std::min(settings_.low_water_bytes, headroom / 2);
  return free < low_water ? std::min(target, minus(held, low_water - free)) : target;
}

inline bool BudgetRule::is_sudden(const device::MemoryReading& reading) const {
  if (!accepted_) return false;
  const bool nothing_left = reading.free_bytes == 0 && accepted_->free_bytes >= settings_.low_water_bytes;
  if (!nothing_left && !differ_twofold(reading.total_bytes, accepted_->total_bytes)) return false;
  // Said twice, it is so.
  return !doubted_ || differ_twofold(reading.total_bytes, doubted_->total_bytes) ||
         (nothing_left && doubted_->free_bytes != 0);
}

inline const BudgetDecision& BudgetRule::read(const device::MemoryReading& reading, const BudgetUsage& usage,
                                              Instant time) {
  unsupported_ = false;
  if (is_impossible(reading)) {
    doubted_.reset();
    // With the total that was told before it is still an upper bound.
    const bool bounds =
        accepted_ && reading.total_bytes != 0 && !differ_twofold(reading.total_bytes, accepted_->total_bytes);
    const std::uint64_t bound = target_bytes(reading, usage.held_bytes, time);
    if (!bounds || bound >= decision_.budget_bytes) return stay(BudgetReason::kImpossible);
    return fall_to(bound, std::min(usage.leased_bytes, reading.total_bytes), BudgetReason::kImpossible);
  }
  if (is_sudden(reading)) {
    doubted_ = reading;
    return stay(BudgetReason::kUnconfirmed);
  }
  doubted_.reset();
  accepted_ = reading;
  return approach(target_bytes(reading, usage.held_bytes, time), reading, usage, time);
}

inline const BudgetDecision& BudgetRule::fail(Status status, Instant time) {
  doubted_.reset();
  if (status != Status::kUnsupported) return stay(BudgetReason::kReadingFailed);
  unsupported_ = true;
  const bool has_cap = settings_.cap_bytes != BudgetSettings::kNoCap;
  const std::uint64_t target = has_cap ? settings_.cap_bytes : settings_.blind_bytes;
  if (target > decision_.budget_bytes && !at_once_) {
    return rise_to(target, std::max(settings_.grow_bytes, part(settings_.grow_fraction, target)), time);
  }
  decision_.budget_bytes = target;
  at_once_ = false;
  return stay(BudgetReason::kUnsupported);
}

inline const BudgetDecision& BudgetRule::set_cap(std::uint64_t bytes, Instant time) {
  const std::uint64_t before = settings_.cap_bytes;
  settings_.cap_bytes = bytes;
  if (bytes < decision_.budget_bytes) return fall_to(bytes, 0, BudgetReason::kSetBudget);
  if (bytes > before || unsupported_) at_once_ = true;
  return unsupported_ ? fail(Status::kUnsupported, time) : decision_;
}

inline const BudgetDecision& BudgetRule::lower(std::uint64_t bytes, BudgetReason reason) {
  if (bytes >= decision_.budget_bytes) return stay(decision_.reason);
  at_once_ = false;
  return fall_to(bytes, 0, reason);
}

inline void BudgetRule::remember_shortage(std::uint64_t bytes, Instant time) {
  shortage_bytes_ = time < shortage_end_ ? std::max(shortage_bytes_, bytes) : bytes;
  shortage_end_ = time + settings_.shortage;
}

inline const BudgetDecision& BudgetRule::stay(BudgetReason reason) {
  growing_ = false;
  allowed_since_.reset();
  decision_.reason = reason;
  decision_.at_floor = false;
  return decision_;
}

inline const BudgetDecision& BudgetRule::fall_to(std::uint64_t target, std::uint64_t floor, BudgetReason reason) {
  const bool at_floor = floor > target;
  decision_.budget_bytes = std::min(decision_.budget_bytes, std::max(target, floor));
  stay(at_floor ? BudgetReason::kLeases : reason);
  decision_.at_floor = at_floor;
  return decision_;
}

inline const BudgetDecision& BudgetRule::rise_to(std::uint64_t target, std::uint64_t step, Instant time) {
  decision_.at_floor = false;
  if (!allowed_since_) allowed_since_ = time;
  if (time - *allowed_since_ < settings_.grow_delay) {
    decision_.reason = BudgetReason::kGrowDelay;
    return decision_;
  }
  decision_.reason = BudgetReason::kGrowing;
  if (growing_ && time - *last_step_ < settings_.grow_interval) return decision_;
  growing_ = true;
  last_step_ = time;
  decision_.budget_bytes += std::min(step, target - decision_.budget_bytes);
  return decision_;
}

inline const BudgetDecision& BudgetRule::approach(std::uint64_t target, const device::MemoryReading& reading,
                                                  const BudgetUsage& usage, Instant time) {
  const std::uint64_t budget = decision_.budget_bytes;
  const std::uint64_t headroom = headroom_bytes(reading.total_bytes, time);
  const std::uint64_t band = std::min(part(settings_.hysteresis, budget), headroom / 4);
  const bool capped = target == settings_.cap_bytes;
  const BudgetReason reached = capped ? BudgetReason::kCap : BudgetReason::kFreeMemory;
  if (target < budget) {
    at_once_ = false;
    const bool pressure = reading.free_bytes < std::min(settings_.low_water_bytes, headroom / 2);
    if (!pressure && budget - target <= band) return stay(BudgetReason::kHysteresis);
    const std::uint64_t floor = std::min(usage.leased_bytes, reading.total_bytes);
    return fall_to(target, floor, pressure ? BudgetReason::kPressure : reached);
  }
  if (at_once_) {
    at_once_ = false;
    decision_.budget_bytes = target;
    return stay(reached);
  }
  if (target == budget) return stay(reached);
  if (reading.free_bytes < std::min(settings_.high_water_bytes, headroom)) return stay(BudgetReason::kHighWater);
  // A target that the cap sets does not waver.
  if (!growing_ && !capped && target - budget <= band) return stay(BudgetReason::kHysteresis);
  return rise_to(target, std::max(settings_.grow_bytes, part(settings_.grow_fraction, reading.total_bytes)), time);
}

}  // namespace timbre::cache
