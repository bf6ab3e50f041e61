// SPDX-License-Identifier: MIT
//
// BlobPool: voices too large for a row, each in a run of whole pages that is contiguous in addresses.
//
// A device that maps pages needs no contiguous memory for a run, so that any free pages serve a blob. Where the device
// cannot, allocate() may fail for want of a long enough gap; the cache then evicts on until one has formed.
//
// Callers hold the miss lock, but for address(), which needs a lease on the blob.
#pragma once

#include <cstdint>

#include "timbre/cache/stable_array.hpp"
#include "timbre/device/device.hpp"

namespace timbre::cache {

class BlobPool {
 public:
  struct Blob {
    device::Address base = 0;  // 0: the number is free
    std::uint64_t bytes = 0;
    std::uint32_t pages = 0;
    std::uint32_t next_free = 0;
    bool transient = false;  // outside the budget
  };

  BlobPool(device::Device& device, std::uint64_t max_blobs)
      : device_(device), page_bytes_(device.properties().page_bytes), blobs_(max_blobs) {}
  BlobPool(const BlobPool&) = delete;
  BlobPool& operator=(const BlobPool&) = delete;
  ~BlobPool() {
    for (std::uint32_t blob = 0; blob < blobs_.size(); ++blob) {
      if (blobs_[blob].base != 0) device_.free(blobs_[blob].base, blobs_[blob].pages);
    }
  }

  [[nodiscard]] std::uint64_t pages_for(std::uint64_t bytes) const { return (bytes + page_bytes_ - 1) / page_bytes_; }

  /// @param transient  counted apart: the budget knows nothing of it. Errors: the device's; kOutOfMemory.
  [[nodiscard]] Result<std::uint32_t> take(std::uint64_t bytes, bool transient) {
    if (free_ == kNone) {
      if (Result<void> grown = blobs_.grow(); !grown) return std::move(grown).error();
      free_ = static_cast<std::uint32_t>(blobs_.size() - 1);
      blobs_[free_].next_free = kNone;
    }
    const std::uint64_t pages = pages_for(bytes);
    Result<device::Address> base = device_.allocate(pages);
    if (!base) return std::move(base).error();
    const std::uint32_t number = free_;
    free_ = blobs_[number].next_free;
    blobs_[number] = Blob{*base, bytes, static_cast<std::uint32_t>(pages), kNone, transient};
    account(blobs_[number], 1);
    return number;
  }

  void give(std::uint32_t number) {
    Blob& blob = blobs_[number];
    account(blob, -1);
    device_.free(blob.base, blob.pages);
    blob = Blob{0, 0, 0, free_, false};
    free_ = number;
  }

  /// The longest run that the device has now, up to `limit` pages: found by taking runs and giving them back.
  [[nodiscard]] std::uint64_t longest_free_run(std::uint64_t limit) const {
    std::uint64_t there = 0;
    while (there < limit) {
      const std::uint64_t pages = there + (limit - there + 1) / 2;
      if (const Result<device::Address> run = device_.allocate(pages)) {
        device_.free(*run, pages);
        there = pages;
      } else {
        limit = pages - 1;
      }
    }
    return there;
  }

  [[nodiscard]] const Blob& blob(std::uint64_t number) const { return blobs_[number]; }
  [[nodiscard]] device::Address address(std::uint64_t number) const { return blobs_[number].base; }
  [[nodiscard]] std::uint64_t held_bytes() const { return static_cast<std::uint64_t>(pages_held_) * page_bytes_; }
  [[nodiscard]] std::uint64_t live_bytes() const { return static_cast<std::uint64_t>(live_bytes_); }
  [[nodiscard]] std::uint64_t transient_bytes() const {
    return static_cast<std::uint64_t>(transient_pages_) * page_bytes_;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void account(const Blob& blob, std::int64_t sign) {
    (blob.transient ? transient_pages_ : pages_held_) += sign * blob.pages;
    if (!blob.transient) live_bytes_ += sign * static_cast<std::int64_t>(blob.bytes);
  }

  device::Device& device_;
  std::size_t page_bytes_;
  StableArray<Blob> blobs_;
  std::uint32_t free_ = kNone;
  std::int64_t pages_held_ = 0;
  std::int64_t transient_pages_ = 0;
  std::int64_t live_bytes_ = 0;
};

}  // namespace timbre::cache
