// SPDX-License-Identifier: MIT
//
// The caches under test behind the same few calls: timbre, RocksDB's HyperClockCache and LRUCache, and the list, map
// and mutex that everybody writes first.
//
// Each keeps a copy of every row, 256 bytes, which is the smallest voice that timbre gives a row of its own. A hit is a
// lookup that pins the entry and a release; the list alone pins nothing, which is to its favour. Peers take what they
// choose themselves (shards, priorities), but for what their documentation asks a user to set.
#pragma once

#include <rocksdb/cache.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timbre/cache/voice_cache.hpp"
#include "timbre/device/host_device.hpp"

namespace timbre::bench {

inline constexpr std::size_t kRowBytes = 256;
using Row = std::array<std::uint64_t, kRowBytes / sizeof(std::uint64_t)>;

/// Used as every cache below is.
///
/// put() inserts or replaces and returns whether it worked; hit() looks up and releases and returns whether the id was
/// there; read() also reads the first word of the row (0 for a miss); batch() returns how many of its ids were there.
template <cache::PolicyKind kPolicy>
class Timbre {
 public:
  static constexpr bool kTakesLongIds = true;

  /// @param capacity  in entries.
  explicit Timbre(std::uint64_t capacity) : device_(make_device(capacity)), cache_(*device_, options(capacity)) {}

  static std::string name() {
    switch (kPolicy) {
      case cache::PolicyKind::kLru:
        return "timbre lru";
      case cache::PolicyKind::kS3Fifo:
        return "timbre s3fifo";
      default:
        return "timbre auto";
    }
  }

  bool put(std::string_view id, const Row& row) {
    Result<cache::Reservation> room = cache_.reserve(id, kRowBytes, {++version_, 0});
    if (!room) return false;
    if (!device_->upload(room->address(), row.data(), kRowBytes, device::Stream::kDefault)) return false;
    const Result<device::Event> end = device_->record(device::Stream::kDefault);
    return end && device_->wait(*end) && cache_.publish(std::move(*room)).ok();
  }

  bool hit(std::string_view id) { return static_cast<bool>(cache_.lookup(id)); }

  std::uint64_t read(std::string_view id) {
    const cache::Lease lease = cache_.lookup(id);
    return lease ? *reinterpret_cast<const std::uint64_t*>(lease.address()) : 0;
  }

  std::size_t batch(std::span<const std::string_view> ids) {
    leases_.resize(ids.size());
    const std::size_t found = cache_.lookup_batch(ids, leases_);
    for (cache::Lease& lease : leases_) lease.release();
    return found;
  }

  void set_capacity(std::uint64_t capacity) { cache_.set_budget(budget(capacity)); }
  std::uint64_t entries() { return cache_.stats().rows.entries; }
  /// What the cache says that it uses beside the rows, in bytes; ids of up to 16 bytes are in it.
  std::uint64_t own_bytes() { return cache_.stats().overhead_bytes; }

 private:
  static constexpr std::uint64_t kPageBytes = 64 * 1024;

  static std::uint64_t budget(std::uint64_t capacity) {
    return (capacity * kRowBytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  static cache::CacheOptions options(std::uint64_t capacity) {
    cache::CacheOptions options;
    options.budget_bytes = budget(capacity);
    options.rows = kPolicy;
    options.blobs = kPolicy;
    return options;
  }
  static std::unique_ptr<device::HostDevice> make_device(std::uint64_t capacity) {
    device::HostDeviceOptions options;
    options.capacity_bytes = budget(capacity);
    options.page_bytes = kPageBytes;
    return std::move(*device::HostDevice::create(options));
  }

  std::unique_ptr<device::HostDevice> device_;
  cache::VoiceCache cache_;
  std::uint64_t version_ = 0;
  std::vector<cache::Lease> leases_;
};

/// What both of RocksDB's caches share. Charges are row bytes alone, so that capacities count entries.
class RocksDb {
 public:
  bool put(std::string_view id, const Row& row) {
    auto copy = std::make_unique<Row>(row);
    const bool done = cache_->Insert(slice(id), copy.get(), kRowBytes, &forget).ok();
    if (done) static_cast<void>(copy.release());
    return done;
  }

  bool hit(std::string_view id) {
    rocksdb::Cache::Handle* const found = cache_->Lookup(slice(id));
    if (found != nullptr) cache_->Release(found);
    return found != nullptr;
  }

  std::uint64_t read(std::string_view id) {
    rocksdb::Cache::Handle* const found = cache_->Lookup(slice(id));
    if (found == nullptr) return 0;
    const std::uint64_t word = static_cast<const Row*>(cache_->Value(found))->front();
    cache_->Release(found);
    return word;
  }

  std::size_t batch(std::span<const std::string_view> ids) {
    handles_.clear();
    for (const std::string_view id : ids) {
      rocksdb::Cache::Handle* const found = cache_->Lookup(slice(id));
      if (found != nullptr) handles_.push_back(found);
    }
    for (rocksdb::Cache::Handle* const handle : handles_) cache_->Release(handle);
    return handles_.size();
  }

  void set_capacity(std::uint64_t capacity) { cache_->SetCapacity(capacity * kRowBytes); }
  std::uint64_t entries() { return cache_->GetUsage() / kRowBytes; }

 protected:
  explicit RocksDb(std::shared_ptr<rocksdb::Cache> cache) : cache_(std::move(cache)) {}

 private:
  static rocksdb::Slice slice(std::string_view id) { return {id.data(), id.size()}; }
  static void forget(const rocksdb::Slice&, void* row) { delete static_cast<Row*>(row); }

  std::shared_ptr<rocksdb::Cache> cache_;
  std::vector<rocksdb::Cache::Handle*> handles_;
};

class HyperClock : public RocksDb {
 public:
  static constexpr bool kTakesLongIds = false;  // its keys have 16 bytes
  static std::string name() { return "HyperClockCache"; }

  explicit HyperClock(std::uint64_t capacity) : RocksDb(make(capacity * kRowBytes)) {}

 private:
  static std::shared_ptr<rocksdb::Cache> make(std::size_t capacity_bytes) {
    rocksdb::HyperClockCacheOptions options(capacity_bytes, kRowBytes);
    options.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
    return options.MakeSharedCache();
  }
};

class RocksLru : public RocksDb {
 public:
  static constexpr bool kTakesLongIds = true;
  static std::string name() { return "LRUCache"; }

  explicit RocksLru(std::uint64_t capacity) : RocksDb(make(capacity * kRowBytes)) {}

 private:
  static std::shared_ptr<rocksdb::Cache> make(std::size_t capacity_bytes) {
    rocksdb::LRUCacheOptions options;
    options.capacity = capacity_bytes;
    options.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
    return rocksdb::NewLRUCache(options);
  }
};

/// Every call is under the one mutex.
class ListAndMap {
 public:
  static constexpr bool kTakesLongIds = true;
  static std::string name() { return "list + map + mutex"; }

  explicit ListAndMap(std::uint64_t capacity) : capacity_(capacity) {}

  bool put(std::string_view id, const Row& row) {
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(id); found != places_.end()) {
      found->second->row = row;
      entries_.splice(entries_.begin(), entries_, found->second);
      return true;
    }
    shrink(capacity_ - 1);
    entries_.push_front({std::string(id), row});
    places_.emplace(entries_.front().id, entries_.begin());
    return true;
  }

  bool hit(std::string_view id) {
    const std::lock_guard lock(mutex_);
    return find(id) != nullptr;
  }

  std::uint64_t read(std::string_view id) {
    const std::lock_guard lock(mutex_);
    const Row* const row = find(id);
    return row != nullptr ? row->front() : 0;
  }

  std::size_t batch(std::span<const std::string_view> ids) {
    const std::lock_guard lock(mutex_);
    std::size_t found = 0;
    for (const std::string_view id : ids) found += find(id) != nullptr ? 1 : 0;
    return found;
  }

  void set_capacity(std::uint64_t capacity) {
    const std::lock_guard lock(mutex_);
    capacity_ = capacity;
    shrink(capacity);
  }
  std::uint64_t entries() const { return entries_.size(); }

 private:
  struct Entry {
    std::string id;
    Row row;
  };

  const Row* find(std::string_view id) {
    const auto found = places_.find(id);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->row;
  }

  void shrink(std::uint64_t entries) {
    while (entries_.size() > entries) {
      places_.erase(entries_.back().id);
      entries_.pop_back();
    }
  }

  std::mutex mutex_;  // guards all below
  std::uint64_t capacity_;
  std::list<Entry> entries_;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;  // by the ids in entries_
};

/// Calls `visit.template operator()<Cache>()` for each cache.
template <typename Visit>
void for_each_cache(Visit&& visit) {
  visit.template operator()<Timbre<cache::PolicyKind::kAuto>>();
  visit.template operator()<Timbre<cache::PolicyKind::kLru>>();
  visit.template operator()<Timbre<cache::PolicyKind::kS3Fifo>>();
  visit.template operator()<HyperClock>();
  visit.template operator()<RocksLru>();
  visit.template operator()<ListAndMap>();
}

}  // namespace timbre::bench
