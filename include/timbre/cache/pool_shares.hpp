// SPDX-License-Identifier: MIT
//
// PoolShares: how the budget is divided between rows and blobs, and which pool loses when room is needed.
//
// One pool for both would lose up to 36 points of hit rate (docs/cache.md), and no fixed division suits every mix of
// requests. So every 256 misses a step of the budget moves to the pool whose next byte would have saved more loading
// time: ghost hits (what a larger pool would have hit), times what such a load costs, per byte of the pool. Only
// policies with ghosts tell; with the others the shares stay as they are. Until both pools have been asked for room,
// the only one in use has the whole budget.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "timbre/cache/stats.hpp"

namespace timbre::cache {

class PoolShares {
 public:
  /// What one pool tells now.
  struct Reading {
    std::uint64_t ghost_hits = 0;
    std::uint64_t entries = 0;
    std::uint64_t live_bytes = 0;
  };

  void set_budget(std::uint64_t bytes) { budget_bytes_ = bytes; }
  [[nodiscard]] std::uint64_t budget_bytes() const { return budget_bytes_; }

  /// The pool is asked for room. @return whether the shares changed.
  [[nodiscard]] bool use(Pool pool) {
    const bool first = !in_use_[index(pool)];
    in_use_[index(pool)] = true;
    return first && in_use_[index(other(pool))];
  }

  [[nodiscard]] std::uint64_t share_bytes(Pool pool) const {
    if (!in_use_[index(other(pool))]) return budget_bytes_;
    const auto rows = static_cast<std::uint64_t>(static_cast<double>(budget_bytes_) * rows_fraction_);
    return pool == Pool::kRows ? rows : budget_bytes_ - rows;
  }

  /// The pool that gives room to an entry of `asking`: the other one where it holds more than its share and `asking`
  /// less.
  [[nodiscard]] Pool loser(Pool asking, std::uint64_t rows_held, std::uint64_t blobs_held) const {
    const std::array<std::uint64_t, 2> held = {rows_held, blobs_held};
    const Pool rival = other(asking);
    const bool rival_is_over = held[index(rival)] > share_bytes(rival);
    return rival_is_over && held[index(asking)] < share_bytes(asking) ? rival : asking;
  }

  /// The pool that holds more in proportion to its share.
  [[nodiscard]] Pool larger(std::uint64_t rows_held, std::uint64_t blobs_held) const {
    const double rows = static_cast<double>(rows_held) * static_cast<double>(share_bytes(Pool::kBlobs));
    const double blobs = static_cast<double>(blobs_held) * static_cast<double>(share_bytes(Pool::kRows));
    return rows >= blobs ? Pool::kRows : Pool::kBlobs;
  }

  /// A miss. @return whether it is time for rebalance().
  [[nodiscard]] bool count_miss() { return ++misses_ % kInterval == 0; }

  /// Moves a step towards the pool that would gain more. @return whether the shares changed.
  bool rebalance(const Reading& rows, const Reading& blobs) {
    const double rows_gain = gain(Pool::kRows, rows);
    const double blobs_gain = gain(Pool::kBlobs, blobs);
    const double before = rows_fraction_;
    if (rows_gain > kHysteresis * blobs_gain) rows_fraction_ = std::min(1 - kFloor, rows_fraction_ + kStep);
    if (blobs_gain > kHysteresis * rows_gain) rows_fraction_ = std::max(kFloor, rows_fraction_ - kStep);
    return rows_fraction_ != before;
  }

 private:
  static constexpr std::uint64_t kInterval = 256;
  static constexpr double kStep = 1.0 / 64;
  static constexpr double kFloor = 1.0 / 32;
  static constexpr double kHysteresis = 1.2;
  static constexpr double kDecay = 0.75;  // of ghost hits, for each interval
  // A load takes a time of its own and one for each byte: 100 us, and 1 GB/s.
  static constexpr double kLoadMicroseconds = 100;
  static constexpr double kMicrosecondsPerByte = 1e-3;

  static std::size_t index(Pool pool) { return static_cast<std::size_t>(pool); }

  /// Microseconds of loading that a byte more would have saved, decayed.
  double gain(Pool pool, const Reading& now) {
    History& history = history_[index(pool)];
    const auto fresh = static_cast<double>(now.ghost_hits - history.seen);
    history.seen = now.ghost_hits;
    history.ghost_hits = history.ghost_hits * kDecay + fresh;
    if (now.entries == 0) return 0;
    const double entry_bytes = static_cast<double>(now.live_bytes) / static_cast<double>(now.entries);
    const double cost = kLoadMicroseconds + kMicrosecondsPerByte * entry_bytes;
    return history.ghost_hits * cost / static_cast<double>(std::max<std::uint64_t>(share_bytes(pool), 1));
  }

  struct History {
    std::uint64_t seen = 0;
    double ghost_hits = 0;
  };

  std::uint64_t budget_bytes_ = 0;
  std::array<bool, 2> in_use_{};
  double rows_fraction_ = 0.5;
  std::uint64_t misses_ = 0;
  std::array<History, 2> history_;
};

}  // namespace timbre::cache
