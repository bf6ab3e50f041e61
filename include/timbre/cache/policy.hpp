// SPDX-License-Identifier: MIT
//
// Policy: which entry of a pool goes next when room is needed.
//
// A hit touches no policy: it leaves a use (a counter in the entry's word) and the time (the cache's miss counter, the
// "tick") in the entry itself. A policy reads both when it looks for a victim and puts its order right only then.
//
// Invariants
//   * Every member is called under the cache's miss lock; a policy holds no lock and no thread of its own.
//   * An entry belongs to a policy from insert() to erase() or evict(); its PolicyNode is the policy's alone.
//   * next_victim() proposes and changes only the order; evict() takes out. An entry that cannot go (it is leased) is
//     answered with pass_over(), which puts it behind the others, so that the next proposal is another one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace timbre::cache {

using EntryNumber = std::uint32_t;
inline constexpr EntryNumber kNoEntry = std::numeric_limits<EntryNumber>::max();

/// Room in an entry for its policy: links of a queue, a place in a heap.
struct PolicyNode {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

/// What a policy may ask about entries; the cache implements it, and simulations do.
class PolicyEntries {
 public:
  virtual ~PolicyEntries() = default;
  virtual PolicyNode& node(EntryNumber entry) = 0;
  /// Uses since the entry was inserted or since the last call; the count starts again at 0.
  virtual std::uint32_t take_uses(EntryNumber entry) = 0;
  /// The tick of the last use; the tick of the insert before the first one.
  [[nodiscard]] virtual std::uint32_t last_tick(EntryNumber entry) const = 0;
  /// 32 bits of the id's hash: what a ghost or a shadow remembers of an entry.
  [[nodiscard]] virtual std::uint32_t tag(EntryNumber entry) const = 0;
  /// Bytes that go free with the entry, >= 1.
  [[nodiscard]] virtual std::uint64_t weight(EntryNumber entry) const = 0;
  /// The present tick: the number of misses so far, modulo 2^32.
  [[nodiscard]] virtual std::uint32_t now() const = 0;
};

/// How an entry comes in.
enum class Admission : std::uint8_t {
  kDemand,  ///< somebody asked for it and missed
  kQuiet,   ///< bulk load or prefetch: it enters where the next victims are, and a ghost does not promote it
};

enum class PolicyKind : std::uint8_t { kLru, kLfu, kS3Fifo, kGdsf, kAuto };

class HitSampler;  // auto only: takes the tags of sampled hits without a lock

/// Order of eviction of one pool.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  /// Sum of weights that the pool may hold: sizes small queues, ghosts and shadows. Called at start and on each change.
  virtual void set_capacity(std::uint64_t weight) = 0;
  virtual void insert(EntryNumber entry, Admission admission) = 0;
  /// Takes an entry out because its owner removed it; nothing of it is remembered.
  virtual void erase(EntryNumber entry) = 0;
  /// The entry that should go next, or kNoEntry when the policy holds none.
  [[nodiscard]] virtual EntryNumber next_victim() = 0;
  /// Takes the entry that next_victim() proposed out, and remembers its tag where the policy has ghosts.
  virtual void evict(EntryNumber entry) = 0;
  /// The proposed entry is in use: treat it as used now.
  virtual void pass_over(EntryNumber entry) = 0;
  /// Visits entries in the order in which they would go if nothing more were used, until `visit` returns false.
  virtual void walk(const std::function<bool(EntryNumber)>& visit) = 0;
  /// Inserts whose tag was remembered as recently evicted: what a larger pool would have hit. 0 without ghosts.
  [[nodiscard]] virtual std::uint64_t ghost_hits() const { return 0; }
  /// Where the cache reports sampled hits; null for policies that need none.
  [[nodiscard]] virtual HitSampler* sampler() { return nullptr; }
  /// Heap bytes that the policy holds beside the nodes.
  [[nodiscard]] virtual std::uint64_t overhead_bytes() const = 0;
};

}  // namespace timbre::cache
