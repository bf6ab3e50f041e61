// SPDX-License-Identifier: MIT
//
// Reservation: room for a voice that is being loaded. Nobody sees it until it is published; dropped, it leaves nothing.
#pragma once

#include <utility>

#include "timbre/cache/cache_core.hpp"

namespace timbre::cache {

class VoiceCache;

/// Move-only. The cache must outlive it. Whoever drops it has seen all work on its address end.
class Reservation {
 public:
  Reservation(Reservation&& from) noexcept
      : core_(std::exchange(from.core_, nullptr)),
        entry_(from.entry_),
        transient_(from.transient_),
        admission_(from.admission_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (core_ == nullptr) return;
    const std::lock_guard lock(core_->mutex);
    core_->free(entry_, EntryUse::make(EntryState::kLoading));
  }

  /// Where the bytes belong; to be written before publish().
  [[nodiscard]] device::Address address() const { return core_->address(core_->table[entry_]); }
  [[nodiscard]] std::uint64_t bytes() const { return core_->bytes(core_->table[entry_]); }
  /// Outside the budget, because nothing could be evicted: only the lease that publish() gives will know of it.
  [[nodiscard]] bool transient() const { return transient_; }

 private:
  friend class VoiceCache;
  Reservation(CacheCore& core, EntryNumber entry, bool transient, Admission admission)
      : core_(&core), entry_(entry), transient_(transient), admission_(admission) {}

  CacheCore* core_;
  EntryNumber entry_;
  bool transient_;
  Admission admission_;
};

}  // namespace timbre::cache
