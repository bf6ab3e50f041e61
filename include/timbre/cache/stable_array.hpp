// SPDX-License-Identifier: MIT
//
// StableArray: a growing array whose elements never move, so that they may be read while it grows.
//
// Invariants
//   * Addresses for the largest size are reserved at the start; memory is taken as the array grows and only where it is
//     touched. An element is made when the array reaches it and lives until the array ends.
//   * grow() has one caller at a time; everybody may use the elements below the size that they were told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "timbre/core/result.hpp"
#include "timbre/device/host_pages.hpp"

namespace timbre::cache {

template <typename T>
class StableArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit StableArray(std::uint64_t max_size) : max_size_(max_size) {}

  /// Makes element number size(). Error: kOutOfMemory, and nothing has changed.
  [[nodiscard]] Result<void> grow() {
    if (size_ == max_size_) {
      return Error{Status::kOutOfMemory, "the cache's table is full at " + std::to_string(max_size_) + " elements"};
    }
    if ((size_ + 1) * sizeof(T) > committed_) {
      if (Result<void> more = commit_more(); !more) return more;
    }
    std::construct_at(data() + size_);
    ++size_;
    return {};
  }

  [[nodiscard]] T& operator[](std::uint64_t number) { return data()[number]; }
  [[nodiscard]] const T& operator[](std::uint64_t number) const { return data()[number]; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  static constexpr std::size_t kCommitBytes = std::size_t{1} << 20U;

  T* data() const { return static_cast<T*>(memory_.data()); }

  [[nodiscard]] Result<void> commit_more() {
    if (memory_.data() == nullptr) {
      Result<device::HostPages> range = device::HostPages::reserve(max_size_ * sizeof(T));
      if (!range) return std::move(range).error();
      memory_ = std::move(*range);
    }
    const std::size_t more = std::min(kCommitBytes, memory_.size() - committed_);
    if (Result<void> done = memory_.commit(committed_, more); !done) return done;
    committed_ += more;
    return {};
  }

  device::HostPages memory_;
  std::size_t committed_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t max_size_;
};

}  // namespace timbre::cache
