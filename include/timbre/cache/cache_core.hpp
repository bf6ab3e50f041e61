// SPDX-License-Identifier: MIT
//
// CacheCore: entries, index, pools and policies of one cache, and the steps that change an entry's state.
//
// Invariants
//   * A lookup that hits writes its entry's cache line and nothing else, and takes no lock.
//   * Everything else happens under `mutex`, the miss lock. It is never held while bytes are copied; entries whose
//     bytes are being copied are exclusive, and who needs one of them waits for `moved`.
//   * An entry that the index names is visible or exclusive, and belongs to the policy of its pool.
// docs/cache.md tells the whole protocol. Users see VoiceCache, not this.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "timbre/cache/blob_pool.hpp"
#include "timbre/cache/entry_table.hpp"
#include "timbre/cache/hit_sampler.hpp"
#include "timbre/cache/id_index.hpp"
#include "timbre/cache/row_pool.hpp"
#include "timbre/cache/stats.hpp"
#include "timbre/core/hash.hpp"

// Tests define it to yield between the steps of the protocol.
#if !defined(TIMBRE_CACHE_STEP)
#define TIMBRE_CACHE_STEP() static_cast<void>(0)
#endif

namespace timbre::cache {

/// One pool's policy and counters; guarded by the miss lock.
struct PoolState {
  std::unique_ptr<Policy> policy;
  HitSampler* sampler = nullptr;  // the policy's; constant
  std::uint64_t entries = 0;
  std::uint64_t inserts = 0;
  std::array<std::uint64_t, kEvictionCauseCount> evictions{};
};

class CacheCore final : public PolicyEntries {
 public:
  CacheCore(device::Device& target, std::uint64_t max_entries, std::uint64_t hash_seed, std::uint32_t first_count,
            std::function<void(std::uint32_t)> note_gone,
            std::function<void(std::string_view, EvictionCause)> entry_gone)
      : device(target),
        rows(target, Place::kMaxPages),
        blobs(target, Place::kMaxPages),
        table(max_entries),
        hash_seed_(hash_seed),
        first_count_(first_count),
        note_gone_(std::move(note_gone)),
        entry_gone_(std::move(entry_gone)) {}

  [[nodiscard]] std::uint32_t tag_of(std::string_view id) const {
    return static_cast<std::uint32_t>(hash_bytes(id, hash_seed_) >> 32U);
  }

  // ---- without the lock

  /// Takes a lease on the entry of this id. @return kNoEntry where the index shows none now: see acquire_locked().
  EntryNumber try_acquire(std::string_view id, std::uint32_t tag) {
    EntryNumber found = kNoEntry;
    index.find(tag, [&](EntryNumber number) {
      Entry& entry = table[number];
      const EntryUse before = entry.word.acquire();
      TIMBRE_CACHE_STEP();
      if (before.state() == EntryState::kVisible && entry.has_id(id)) {
        found = number;
        return true;
      }
      if (before.state() == EntryState::kVisible || before.state() == EntryState::kRetired) {
        after_release(number, entry.word.undo());
      }
      return false;
    });
    if (found != kNoEntry) touch(found, tag);
    return found;
  }

  void release(EntryNumber number, bool held) { after_release(number, count_release(number, held)); }

  /// As release(), under the lock.
  void release_locked(EntryNumber number, bool held) {
    const EntryUse after = count_release(number, held);
    if (after.state() == EntryState::kRetired && !after.leased()) free_retired(number);
  }

  [[nodiscard]] device::Address address(const Entry& entry) const {
    return entry.place.blob ? blobs.address(entry.place.page) : rows.address(entry.place.page, entry.place.row);
  }
  [[nodiscard]] std::uint64_t bytes(const Entry& entry) const {
    if (entry.place.blob) return blobs.blob(entry.place.page).bytes;
    return rows.page(static_cast<std::uint32_t>(entry.place.page)).row_bytes - entry.place.unused_bytes;
  }

  // ---- under the lock

  /// The entry that the index names for this id, visible; waits while it is being moved. kNoEntry: there is none.
  EntryNumber find(std::unique_lock<std::mutex>& lock, std::string_view id, std::uint32_t tag) {
    while (true) {
      EntryNumber found = kNoEntry;
      index.find(tag, [&](EntryNumber number) {
        if (table[number].has_id(id)) found = number;
        return found != kNoEntry;
      });
      if (found == kNoEntry || table[found].word.load().state() == EntryState::kVisible) return found;
      moved.wait(lock);
    }
  }

  /// As try_acquire(), but its answer is the truth at this moment. A miss counts as one and moves the tick.
  EntryNumber acquire_locked(std::unique_lock<std::mutex>& lock, std::string_view id, std::uint32_t tag) {
    const EntryNumber found = find(lock, id, tag);
    if (found == kNoEntry) {
      ++misses;
      tick.store(tick.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      table[found].word.acquire();
      touch(found, tag);
    }
    return found;
  }

  /// A lease on a visible entry, or on one that the caller leases, that is no hit.
  void acquire_quietly(EntryNumber number) {
    table[number].word.acquire();
    ++counted_before_;
  }

  /// A loading entry becomes visible, with the publisher's lease on it. The index has room for it.
  void show(EntryNumber number, std::uint32_t tag, EntryNumber replaced, Admission admission) {
    Entry& entry = table[number];
    PoolState& pool = pool_of(entry);
    entry.last_tick.store(tick.load(std::memory_order_relaxed), std::memory_order_relaxed);
    counted_before_ += first_count_;
    pool.policy->insert(number, admission);
    entry.word.store(EntryUse::make(EntryState::kVisible, first_count_, true));
    TIMBRE_CACHE_STEP();
    if (replaced == kNoEntry) {
      index.insert(tag, number);
    } else {
      index.replace(tag, replaced, number);
      TIMBRE_CACHE_STEP();
      leave(replaced, EvictionCause::kReplaced);
    }
    ++pool.entries;
    ++pool.inserts;
  }

  /// A visible entry goes from index and policy; its bytes go when nobody holds a lease.
  void remove(EntryNumber number, EvictionCause cause) {
    index.erase(tag(number), number);
    TIMBRE_CACHE_STEP();
    leave(number, cause);
  }

  /// A loading entry that will never be shown: only the publisher's lease finds it.
  void hide(EntryNumber number) { table[number].word.store(EntryUse::make(EntryState::kRetired, 0, true)); }

  /// An entry proposed by its policy goes, unless it is in use. @return whether it went.
  bool evict(EntryNumber number, EvictionCause cause) {
    Entry& entry = table[number];
    EntryUse before;
    if (!entry.word.try_exclusive(EntryState::kVisible, before)) return false;
    TIMBRE_CACHE_STEP();
    index.erase(tag(number), number);
    pool_of(entry).policy->evict(number);
    count_gone(entry, cause);
    TIMBRE_CACHE_STEP();
    free(number, before);
    return true;
  }

  /// Gives back the memory and the number of an entry that the caller owns. @param last its word before it was owned.
  void free(EntryNumber number, EntryUse last) {
    const Entry& entry = table[number];
    hits_of_gone_ += last.acquires();
    if (entry.place.noted && note_gone_) note_gone_(table.note(number));
    if (entry.place.blob) {
      blobs.give(static_cast<std::uint32_t>(entry.place.page));
    } else {
      rows.give({static_cast<std::uint32_t>(entry.place.page), static_cast<std::uint32_t>(entry.place.row)});
    }
    table.give(number);
  }

  [[nodiscard]] PoolState& pool(Pool which) { return which == Pool::kRows ? row_pool : blob_pool; }
  [[nodiscard]] const PoolState& pool(Pool which) const { return which == Pool::kRows ? row_pool : blob_pool; }
  [[nodiscard]] PoolState& pool_of(const Entry& entry) { return entry.place.blob ? blob_pool : row_pool; }

  /// Hits of entries that are there, from their words; the rest is counted as entries go.
  [[nodiscard]] std::uint64_t hits() const {
    std::uint64_t sum = hits_of_gone_ + receded_.load(std::memory_order_relaxed) - counted_before_;
    for (EntryNumber number = 0; number < table.end(); ++number) {
      const EntryUse use = table[number].word.load();
      if (use.state() >= EntryState::kVisible) sum += use.acquires();
    }
    return sum;
  }

  // ---- PolicyEntries

  PolicyNode& node(EntryNumber entry) override { return table[entry].node; }
  std::uint32_t take_uses(EntryNumber entry) override {
    std::uint32_t given_back = 0;
    const std::uint32_t uses = table[entry].word.take_uses(given_back);
    hits_of_gone_ += given_back;
    return uses;
  }
  [[nodiscard]] std::uint32_t last_tick(EntryNumber entry) const override {
    return table[entry].last_tick.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t tag(EntryNumber entry) const override { return tag_of(table[entry].id()); }
  [[nodiscard]] std::uint64_t weight(EntryNumber entry) const override {
    const Place& place = table[entry].place;
    if (!place.blob) return rows.page(static_cast<std::uint32_t>(place.page)).row_bytes;
    return blobs.blob(place.page).pages * device.properties().page_bytes;
  }
  [[nodiscard]] std::uint32_t now() const override { return tick.load(std::memory_order_relaxed); }

  device::Device& device;
  std::mutex mutex;
  std::condition_variable moved;  // an entry is no longer exclusive

  // Guarded by mutex; entries, index and addresses are also read as entry_word.hpp and id_index.hpp allow.
  RowPool rows;
  BlobPool blobs;
  EntryTable table;
  IdIndex index;
  PoolState row_pool;
  PoolState blob_pool;
  std::uint64_t misses = 0;
  std::uint64_t retired_entries = 0;
  std::uint64_t retired_bytes = 0;
  std::atomic<std::uint32_t> tick{0};  // misses, modulo 2^32; written under mutex, read by hits

 private:
  void touch(EntryNumber number, std::uint32_t tag) {
    Entry& entry = table[number];
    const std::uint32_t present = tick.load(std::memory_order_relaxed);
    if (entry.last_tick.load(std::memory_order_relaxed) != present) {
      entry.last_tick.store(present, std::memory_order_relaxed);
    }
    HitSampler* const sampler = pool_of(entry).sampler;
    if (sampler != nullptr) sampler->record(tag);
  }

  EntryUse count_release(EntryNumber number, bool held) {
    EntryWord& word = table[number].word;
    TIMBRE_CACHE_STEP();
    if (held) return word.drop_hold();
    const EntryUse after = word.release();
    if (after.releases() >= EntryUse::kHalf && word.recede()) {
      receded_.fetch_add(EntryUse::kHalf, std::memory_order_relaxed);
    }
    return after;
  }

  /// Whoever sees a retired entry unleased frees it; entry_word.hpp lets only one succeed.
  void after_release(EntryNumber number, EntryUse after) {
    if (after.state() != EntryState::kRetired || after.leased()) return;
    TIMBRE_CACHE_STEP();
    const std::lock_guard lock(mutex);
    free_retired(number);
  }

  void free_retired(EntryNumber number) {
    EntryUse before;
    if (!table[number].word.try_exclusive(EntryState::kRetired, before)) return;
    if (!is_transient(table[number])) {
      --retired_entries;
      retired_bytes -= weight(number);
    }
    free(number, before);
  }

  void leave(EntryNumber number, EvictionCause cause) {
    pool_of(table[number]).policy->erase(number);
    count_gone(table[number], cause);
    ++retired_entries;
    retired_bytes += weight(number);
    const EntryUse after = table[number].word.retire();
    TIMBRE_CACHE_STEP();
    if (!after.leased()) free_retired(number);
  }

  void count_gone(const Entry& entry, EvictionCause cause) {
    PoolState& pool = pool_of(entry);
    --pool.entries;
    ++pool.evictions[static_cast<std::size_t>(cause)];
    if (entry_gone_) entry_gone_(entry.id(), cause);
  }

  [[nodiscard]] bool is_transient(const Entry& entry) const {
    return entry.place.blob && blobs.blob(entry.place.page).transient;
  }

  std::uint64_t hash_seed_;
  std::uint32_t first_count_;
  std::function<void(std::uint32_t)> note_gone_;
  std::function<void(std::string_view, EvictionCause)> entry_gone_;
  std::uint64_t hits_of_gone_ = 0;    // guarded by mutex
  std::uint64_t counted_before_ = 0;  // guarded by mutex
  std::atomic<std::uint64_t> receded_{0};
};

}  // namespace timbre::cache
