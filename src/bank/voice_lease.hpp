// SPDX-License-Identifier: MIT
//
// VoiceLease: a lease on a voice in the device tier, which also tells what its bytes are.
//
// Invariant: one that a hit gave is the cache's own lease and costs nothing more; one that a flight gave may be shared
// by all who waited for it, and the entry is leased until the last of them lets go.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "timbre/cache/lease.hpp"
#include "voice/layout_table.hpp"

namespace timbre::bank {

/// Move-only. The bank must outlive it. Thread safety: as a value; different leases may be used by different threads.
class VoiceLease {
 public:
  /// No lease.
  VoiceLease() = default;
  VoiceLease(VoiceLease&& from) noexcept
      : own_(std::move(from.own_)), shared_(std::move(from.shared_)), layouts_(std::exchange(from.layouts_, nullptr)) {}
  VoiceLease& operator=(VoiceLease&& from) noexcept {
    own_ = std::move(from.own_);
    shared_ = std::move(from.shared_);
    layouts_ = std::exchange(from.layouts_, nullptr);
    return *this;
  }
  ~VoiceLease() = default;

  explicit operator bool() const { return layouts_ != nullptr; }

  // What follows needs a lease.

  /// Where the row is in the device tier: readable, in no way writable.
  [[nodiscard]] device::Address address() const { return lease().address(); }
  [[nodiscard]] std::uint64_t bytes() const { return lease().bytes(); }
  [[nodiscard]] cache::Version version() const { return lease().version(); }
  /// Valid as long as the lease, as is the layout.
  [[nodiscard]] std::string_view id() const { return lease().id(); }
  [[nodiscard]] const voice::PackedLayout& layout() const { return layouts_->at(lease().note()); }

  /// One more lease on the same bytes.
  [[nodiscard]] VoiceLease share() const {
    return shared_ ? VoiceLease(shared_, *layouts_) : VoiceLease(own_.share(), *layouts_);
  }

  /// Gives the lease back now: nobody reads through it any more, on no stream. Does nothing where there is none.
  void release() {
    own_.release();
    shared_.reset();
    layouts_ = nullptr;
  }

 private:
  friend class VoiceBank;
  VoiceLease(cache::Lease&& own, const voice::LayoutTable& layouts) : own_(std::move(own)), layouts_(&layouts) {}
  VoiceLease(std::shared_ptr<const cache::Lease> shared, const voice::LayoutTable& layouts)
      : shared_(std::move(shared)), layouts_(&layouts) {}

  [[nodiscard]] const cache::Lease& lease() const { return shared_ ? *shared_ : own_; }

  cache::Lease own_;
  std::shared_ptr<const cache::Lease> shared_;
  const voice::LayoutTable* layouts_ = nullptr;  // null: no lease
};

}  // namespace timbre::bank
