// SPDX-License-Identifier: MIT
//
// Lease: the right to use one version of one voice's bytes. While it lives they neither move nor change, whatever
// happens to the id, the budget or the other leases.
#pragma once

#include <string_view>
#include <utility>

#include "timbre/cache/cache_core.hpp"

namespace timbre::cache {

class VoiceCache;

/// Move-only. The cache must outlive it. Thread safety: as a value; different leases may be used by different threads.
class Lease {
 public:
  /// No lease.
  Lease() = default;
  Lease(Lease&& from) noexcept : core_(std::exchange(from.core_, nullptr)), entry_(from.entry_), held_(from.held_) {}
  Lease& operator=(Lease&& from) noexcept {
    if (this != &from) {
      release();
      core_ = std::exchange(from.core_, nullptr);
      entry_ = from.entry_;
      held_ = from.held_;
    }
    return *this;
  }
  ~Lease() { release(); }

  explicit operator bool() const { return core_ != nullptr; }

  // What follows needs a lease.

  /// Where the bytes are: readable, in no way writable.
  [[nodiscard]] device::Address address() const { return core_->address(entry()); }
  [[nodiscard]] std::uint64_t bytes() const { return core_->bytes(entry()); }
  [[nodiscard]] Version version() const { return entry().version; }
  /// What reserve() was told to keep with the entry; 0: nothing.
  [[nodiscard]] std::uint32_t note() const { return core_->table.note(entry_); }
  /// Valid as long as the lease.
  [[nodiscard]] std::string_view id() const { return entry().id(); }

  /// One more lease on the same bytes; no hit. Takes the miss lock.
  [[nodiscard]] Lease share() const {
    const std::lock_guard lock(core_->mutex);
    core_->acquire_quietly(entry_);
    return {*core_, entry_, false};
  }

  /// Gives the lease back now: nobody reads through it any more, on no stream. Does nothing where there is none.
  void release() {
    if (core_ != nullptr) std::exchange(core_, nullptr)->release(entry_, held_);
  }

 private:
  friend class VoiceCache;
  Lease(CacheCore& core, EntryNumber entry, bool held) : core_(&core), entry_(entry), held_(held) {}

  [[nodiscard]] const Entry& entry() const { return core_->table[entry_]; }

  CacheCore* core_ = nullptr;
  EntryNumber entry_ = kNoEntry;
  bool held_ = false;  // the publisher's lease, which is no use
};

}  // namespace timbre::cache
