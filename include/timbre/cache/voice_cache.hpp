// SPDX-License-Identifier: MIT
//
// VoiceCache: voices by id in the memory of a device, within a budget of bytes.
//
//   if (Lease voice = cache.lookup(id)) use(voice.address());            // a hit: no lock, no allocation
//   else if (auto room = cache.reserve(id, bytes, version)) {            // a miss: load it
//     device.upload(room->address(), data, bytes, stream) ...            // and see the event of the upload pass
//     Lease loaded = cache.publish(std::move(*room));
//   }
//
// A miss is a miss: the cache loads nothing and never answers with another voice. Who loads what, and only once, is the
// bank's business. docs/cache.md has the protocol, docs/cache-policies.md the policies.
//
// Thread safety: all members may be called from any thread, but for the destructor. Leases and reservations must be
// gone before the cache is, and the cache before its device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "timbre/cache/lease.hpp"
#include "timbre/cache/make_policy.hpp"
#include "timbre/cache/reservation.hpp"
#include "timbre/cache/room.hpp"

namespace timbre::cache {

struct CacheOptions {
  std::uint64_t budget_bytes = 0;  ///< of device memory; 0 works: every entry is transient
  PolicyKind rows = PolicyKind::kAuto;
  PolicyKind blobs = PolicyKind::kAuto;
  std::uint64_t max_entries = std::uint64_t{1} << 26U;  ///< addresses are reserved for so many; at most 2^29 - 2 count
  std::uint64_t hash_seed = 0;                          ///< a secret one where ids come from strangers
  std::uint32_t first_use_count = 0;                    ///< where an entry's counters begin; for tests of their limits
  /// Called with the note of an entry that gives back its memory, but not when the cache ends. Under the miss lock: it
  /// must neither use the cache nor throw.
  std::function<void(std::uint32_t)> note_gone = {};
  /// Called with the id of an entry that lookups find no more, and why. As above.
  std::function<void(std::string_view, EvictionCause)> entry_gone = {};
};

/// An entry as a walk shows it.
struct EntryInfo {
  std::string id;
  Version version;
  std::uint64_t bytes = 0;
  Pool pool = Pool::kRows;
  std::uint32_t leases = 0;  ///< that are out now
};

class VoiceCache {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 46U;  ///< of a voice

  /// @param device  must outlive the cache.
  VoiceCache(device::Device& device, const CacheOptions& options)
      : core_(device, options.max_entries, options.hash_seed, options.first_use_count, options.note_gone,
              options.entry_gone),
        room_(core_),
        options_(options) {
    room_.shares.set_budget(options.budget_bytes);
    set_policy(core_.row_pool, options.rows);
    set_policy(core_.blob_pool, options.blobs);
    set_capacities();
  }
  VoiceCache(const VoiceCache&) = delete;
  VoiceCache& operator=(const VoiceCache&) = delete;
  ~VoiceCache() {
    for (const Draining& use : draining_) {
      static_cast<void>(core_.device.wait(use.event));
      core_.release(use.entry, use.held);
    }
    room_.wait_for_copies();
  }

  /// The entry of this id, or an empty lease. A hit takes no lock; a miss takes the miss lock, and waits where a row of
  /// this id is being moved.
  [[nodiscard]] Lease lookup(std::string_view id) {
    const std::uint32_t tag = core_.tag_of(id);
    EntryNumber found = core_.try_acquire(id, tag);
    if (found == kNoEntry) {
      Room::Lock lock(core_.mutex);
      found = core_.acquire_locked(lock, id, tag);
      if (found == kNoEntry) return {};
    }
    return {core_, found, false};
  }

  /// One lookup for each id, leases in their order; misses are looked up again 32 at a time. `leases` is as long as
  /// `ids`.
  /// @return how many were found.
  std::size_t lookup_batch(std::span<const std::string_view> ids, std::span<Lease> leases) {
    std::size_t found_count = 0;
    for (std::size_t first = 0; first < ids.size(); first += kBatch) {
      const std::size_t count = std::min(kBatch, ids.size() - first);
      found_count += lookup_some(ids.subspan(first, count), leases.subspan(first, count));
    }
    return found_count;
  }

  /// Room for `bytes` of this id: evicts what must go. Where everything is in use, or the entry is larger than the
  /// budget, the room is transient. Errors: kInvalidArgument (id of 0 or more than 512 bytes, 0 or more than kMaxBytes
  /// bytes), kOutOfMemory (the device has not even that, or the host has no memory for the entry).
  /// @param note  a number of the caller's that leases on the entry tell; 0: none. It is kept unless there is an error.
  [[nodiscard]] Result<Reservation> reserve(std::string_view id, std::uint64_t bytes, const Version& version,
                                            Admission admission = Admission::kDemand, std::uint32_t note = 0) {
    if (id.empty() || id.size() > kMaxIdBytes) {
      return Error{Status::kInvalidArgument, "an id has 1 to 512 bytes, this one " + std::to_string(id.size())};
    }
    if (bytes == 0 || bytes > kMaxBytes) {
      return Error{Status::kInvalidArgument, "voice '" + std::string(id) + "' has " + std::to_string(bytes) +
                                                 " bytes, expected 1 to " + std::to_string(kMaxBytes)};
    }
    Room::Lock lock(core_.mutex);
    drain();
    if (shares_change(room_.pool_for(bytes))) set_capacities();
    const Result<EntryNumber> entry = core_.table.take();
    if (!entry) return entry.error();
    std::optional<Place> place = room_.find(lock, bytes, *entry);
    const bool transient = !place;
    if (transient) {
      const Result<std::uint32_t> blob = core_.blobs.take(bytes, true);
      if (!blob) {
        core_.table.give(*entry);
        return Error{blob.error().status, "no room for voice '" + std::string(id) + "' of " + std::to_string(bytes) +
                                              " bytes: " + blob.error().message};
      }
      place = Place::of_blob(*blob);
      ++transient_inserts_;
    }
    core_.table[*entry].place = *place;
    core_.table[*entry].version = version;
    if (!core_.table[*entry].set_id(id) || (note != 0 && !core_.table.set_note(*entry, note))) {
      core_.free(*entry, EntryUse::make(EntryState::kLoading));
      return Error{Status::kOutOfMemory, "no memory for the entry of '" + std::string(id) + "'"};
    }
    return Reservation(core_, *entry, transient, admission);
  }

  /// Shows what was reserved: lookups find it from now on, unless it is transient. Another version of the id goes
  /// either way; an equal one stays and is what the lease is on. Errors: kOutOfMemory (no room in the index), and the
  /// reservation is dropped; kInvalidArgument (a reservation that was published or moved from).
  [[nodiscard]] Result<Lease> publish(Reservation&& filled) {
    Reservation reserved(std::move(filled));  // made before the lock: it is dropped without it
    if (reserved.core_ == nullptr) return Error{Status::kInvalidArgument, "this reservation was published before"};
    Entry& entry = core_.table[reserved.entry_];
    const std::string_view id = entry.id();
    const std::uint32_t tag = core_.tag_of(id);
    Room::Lock lock(core_.mutex);
    const EntryNumber there = core_.find(lock, id, tag);
    if (there != kNoEntry && core_.table[there].version == entry.version) {
      core_.acquire_quietly(there);
      return Lease(core_, there, false);
    }
    if (reserved.transient_) {
      if (there != kNoEntry) core_.remove(there, EvictionCause::kReplaced);
      core_.hide(reserved.entry_);
    } else {
      if (Result<void> ready = core_.index.prepare_insert(); !ready) return std::move(ready).error();
      core_.show(reserved.entry_, tag, there, reserved.admission_);
    }
    reserved.core_ = nullptr;
    return Lease(core_, reserved.entry_, true);
  }

  /// The id is found no more. Leases on it stay good. @param cause  what statistics say. @return whether it was there.
  bool remove(std::string_view id, EvictionCause cause = EvictionCause::kRemoved) {
    const std::uint32_t tag = core_.tag_of(id);
    Room::Lock lock(core_.mutex);
    const EntryNumber found = core_.find(lock, id, tag);
    if (found != kNoEntry) core_.remove(found, cause);
    return found != kNoEntry;
  }

  /// No id is found any more.
  void clear() {
    Room::Lock lock(core_.mutex);
    for (EntryNumber number = 0; number < core_.table.end(); ++number) {
      EntryState state = core_.table[number].word.load().state();
      while (state == EntryState::kExclusive) {
        core_.moved.wait(lock);
        state = core_.table[number].word.load().state();
      }
      if (state == EntryState::kVisible) core_.remove(number, EvictionCause::kCleared);
    }
    drain();
  }

  /// The entry of this id as it is now. It is no use of it, and no miss where there is none.
  [[nodiscard]] std::optional<EntryInfo> peek(std::string_view id) {
    Room::Lock lock(core_.mutex);
    const EntryNumber found = core_.find(lock, id, core_.tag_of(id));
    if (found == kNoEntry) return std::nullopt;
    return info(found);
  }

  /// Entries of a pool in the order in which they would go, coldest first.
  [[nodiscard]] std::vector<EntryInfo> coldest(Pool pool, std::size_t limit) {
    std::vector<EntryInfo> found;
    const Room::Lock lock(core_.mutex);
    if (limit == 0) return found;
    core_.pool(pool).policy->walk([&](EntryNumber number) {
      found.push_back(info(number));
      return found.size() < limit;
    });
    return found;
  }

  /// Gives back a lease that work on `stream` may still use: it counts as leased until the stream has passed this
  /// point. Does nothing where there is none. Error: the device's, and the lease is still there.
  [[nodiscard]] Result<void> release_on(Lease& lease, device::Stream stream) {
    if (!lease) return {};
    const Result<device::Event> event = core_.device.record(stream);
    if (!event) return event.error();
    const Room::Lock lock(core_.mutex);
    draining_.push_back({*event, lease.entry_, lease.held_});
    lease.core_ = nullptr;
    return {};
  }

  /// Gives back what streams have finished with. Also done by reserve(), trim(), set_budget(), clear() and stats().
  void poll() {
    const Room::Lock lock(core_.mutex);
    drain();
  }

  /// The pools may hold so many bytes from now on; what is above it goes, coldest first. @return what they hold then:
  /// more than the budget where leases hold it.
  std::uint64_t set_budget(std::uint64_t bytes) {
    Room::Lock lock(core_.mutex);
    drain();
    room_.shares.set_budget(bytes);
    set_capacities();
    return room_.shrink(lock, bytes, EvictionCause::kBudget);
  }

  /// Gives `bytes` back to the device, if leases allow it. @return how many bytes went.
  std::uint64_t trim(std::uint64_t bytes) {
    Room::Lock lock(core_.mutex);
    drain();
    const std::uint64_t before = room_.held_bytes();
    const std::uint64_t after = room_.shrink(lock, before > bytes ? before - bytes : 0, EvictionCause::kTrim);
    return before > after ? before - after : 0;
  }

  [[nodiscard]] std::uint64_t budget_bytes() {
    const Room::Lock lock(core_.mutex);
    return room_.shares.budget_bytes();
  }

  /// Walks all entries under the miss lock: not for every frame.
  [[nodiscard]] CacheStats stats();

 private:
  struct Draining {
    device::Event event;
    EntryNumber entry;
    bool held;
  };

  static constexpr std::size_t kBatch = 32;  // index words of so many ids are asked for before the first is read

  std::size_t lookup_some(std::span<const std::string_view> ids, std::span<Lease> leases) {
    std::array<std::uint32_t, kBatch> tags;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      tags[i] = core_.tag_of(ids[i]);
      core_.index.prefetch(tags[i]);
    }
    std::size_t missed_count = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const EntryNumber found = core_.try_acquire(ids[i], tags[i]);
      leases[i] = found == kNoEntry ? Lease() : Lease(core_, found, false);
      missed_count += found == kNoEntry ? 1 : 0;
    }
    std::size_t found_count = ids.size() - missed_count;
    if (missed_count == 0) return found_count;
    Room::Lock lock(core_.mutex);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (leases[i]) continue;
      const EntryNumber found = core_.acquire_locked(lock, ids[i], tags[i]);
      if (found == kNoEntry) continue;
      leases[i] = Lease(core_, found, false);
      ++found_count;
    }
    return found_count;
  }

  [[nodiscard]] EntryInfo info(EntryNumber number) const {
    const Entry& entry = core_.table[number];
    const Pool pool = entry.place.blob ? Pool::kBlobs : Pool::kRows;
    return {std::string(entry.id()), entry.version, core_.bytes(entry), pool, entry.word.load().leases()};
  }

  void set_policy(PoolState& pool, PolicyKind kind) {
    pool.policy = make_policy(kind, core_);
    pool.sampler = pool.policy->sampler();
  }

  void set_capacities() {
    core_.row_pool.policy->set_capacity(room_.shares.share_bytes(Pool::kRows));
    core_.blob_pool.policy->set_capacity(room_.shares.share_bytes(Pool::kBlobs));
  }

  bool shares_change(Pool asking) {
    if (room_.shares.use(asking)) return true;
    return room_.shares.count_miss() && room_.shares.rebalance(reading(core_.row_pool, core_.rows.live_bytes()),
                                                               reading(core_.blob_pool, core_.blobs.live_bytes()));
  }

  static PoolShares::Reading reading(const PoolState& pool, std::uint64_t live_bytes) {
    return {pool.policy->ghost_hits(), pool.entries, live_bytes};
  }

  /// Under the lock.
  void drain() {
    std::erase_if(draining_, [this](const Draining& use) {
      if (!core_.device.passed(use.event)) return false;
      core_.release_locked(use.entry, use.held);
      return true;
    });
  }

  [[nodiscard]] PoolStats pool_stats(Pool pool) const;

  CacheCore core_;
  Room room_;
  CacheOptions options_;
  std::vector<Draining> draining_;  // leases given back on a stream; guarded by the miss lock
  std::uint64_t transient_inserts_ = 0;
};

inline PoolStats VoiceCache::pool_stats(Pool pool) const {
  const bool rows = pool == Pool::kRows;
  const PoolState& state = core_.pool(pool);
  PoolStats stats;
  stats.policy = rows ? options_.rows : options_.blobs;
  stats.entries = state.entries;
  stats.live_bytes = rows ? core_.rows.live_bytes() : core_.blobs.live_bytes();
  stats.held_bytes = rows ? core_.rows.held_bytes() : core_.blobs.held_bytes();
  stats.share_bytes = room_.shares.share_bytes(pool);
  stats.inserts = state.inserts;
  stats.ghost_hits = state.policy->ghost_hits();
  stats.evictions = state.evictions;
  return stats;
}

inline CacheStats VoiceCache::stats() {
  const Room::Lock lock(core_.mutex);
  drain();
  CacheStats stats;
  stats.hits = core_.hits();
  stats.misses = core_.misses;
  stats.budget_bytes = room_.shares.budget_bytes();
  stats.held_bytes = room_.held_bytes();
  for (EntryNumber number = 0; number < core_.table.end(); ++number) {
    const EntryUse use = core_.table[number].word.load();
    if (use.state() < EntryState::kVisible || !use.leased()) continue;
    stats.leases += use.leases();
    stats.leased_bytes += core_.weight(number);
  }
  stats.retired_entries = core_.retired_entries;
  stats.retired_bytes = core_.retired_bytes;
  stats.transient_bytes = core_.blobs.transient_bytes();
  stats.transient_inserts = transient_inserts_;
  stats.moved_rows = room_.moved_rows;
  stats.largest_free_bytes = room_.largest_free_bytes();
  stats.overhead_bytes = core_.table.overhead_bytes() + core_.index.overhead_bytes() + core_.rows.overhead_bytes() +
                         core_.row_pool.policy->overhead_bytes() + core_.blob_pool.policy->overhead_bytes();
  stats.rows = pool_stats(Pool::kRows);
  stats.blobs = pool_stats(Pool::kBlobs);
  return stats;
}

}  // namespace timbre::cache
