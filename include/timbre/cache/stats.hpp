// SPDX-License-Identifier: MIT
//
// What a cache tells about itself. All sizes in bytes; counts since the cache was made.
#pragma once

#include <array>
#include <cstdint>

#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// The two kinds of memory that entries have.
enum class Pool : std::uint8_t { kRows = 0, kBlobs = 1 };
[[nodiscard]] constexpr Pool other(Pool pool) { return pool == Pool::kRows ? Pool::kBlobs : Pool::kRows; }

/// Why an entry went.
enum class EvictionCause : std::uint8_t {
  kRoom,      ///< a new entry needed the bytes
  kBudget,    ///< the budget became smaller
  kTrim,      ///< the host asked for bytes
  kRemoved,   ///< the id was removed
  kReplaced,  ///< a newer version of the id came
  kCleared,   ///< clear()
};
inline constexpr std::size_t kEvictionCauseCount = 6;

/// Rows or blobs.
struct PoolStats {
  PolicyKind policy = PolicyKind::kS3Fifo;
  std::uint64_t entries = 0;      ///< that lookups find
  std::uint64_t live_bytes = 0;   ///< of rows or blobs in use, retired ones included
  std::uint64_t held_bytes = 0;   ///< taken from the device
  std::uint64_t share_bytes = 0;  ///< what the pool may hold while the other wants its own share
  std::uint64_t inserts = 0;
  std::uint64_t ghost_hits = 0;
  std::array<std::uint64_t, kEvictionCauseCount> evictions{};  ///< by EvictionCause

  [[nodiscard]] std::uint64_t free_bytes() const { return held_bytes - live_bytes; }
};

struct CacheStats {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t budget_bytes = 0;
  std::uint64_t held_bytes = 0;       ///< of both pools, without transient ones
  std::uint64_t leases = 0;           ///< that are out now
  std::uint64_t leased_bytes = 0;     ///< of entries with a lease, retired and transient ones included
  std::uint64_t retired_entries = 0;  ///< removed or replaced, but leased
  std::uint64_t retired_bytes = 0;
  std::uint64_t transient_bytes = 0;     ///< outside the budget now
  std::uint64_t transient_inserts = 0;   ///< since the start
  std::uint64_t moved_rows = 0;          ///< by compaction
  std::uint64_t largest_free_bytes = 0;  ///< the largest entry that would come in without an eviction
  std::uint64_t overhead_bytes = 0;      ///< entries, index and policies, in host memory
  PoolStats rows;
  PoolStats blobs;
};

}  // namespace timbre::cache
