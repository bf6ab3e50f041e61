// SPDX-License-Identifier: MIT
//
// PagedArray: an array that grows and shrinks at its end by pages of 512 elements.
//
// A vector that doubles holds up to twice what it needs and copies everything when it grows; this one holds at most two
// pages more than it needs and copies only its list of pages.
//
// Invariants
//   * An element stays where it is in memory until it is popped.
//   * Pages begin on a cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace timbre::cache {

template <class T>
class PagedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  [[nodiscard]] std::uint32_t size() const { return size_; }
  T& operator[](std::uint32_t index) { return pages_[index / kPageElements]->elements[index % kPageElements]; }
  const T& operator[](std::uint32_t index) const {
    return pages_[index / kPageElements]->elements[index % kPageElements];
  }

  /// Makes sure that the next push_back() throws nothing. Throws std::bad_alloc, and then nothing has changed.
  void reserve_one() {
    if (size_ == pages_.size() * kPageElements) pages_.push_back(std::make_unique<Page>());
  }

  /// Throws std::bad_alloc, and then nothing has changed.
  void push_back(const T& value) {
    reserve_one();
    ++size_;
    (*this)[size_ - 1] = value;
  }

  /// Gives a page back when two are empty.
  void pop_back() {
    --size_;
    if (pages_.size() * kPageElements >= size_ + std::size_t{2} * kPageElements) pages_.pop_back();
  }

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return pages_.size() * sizeof(Page) + pages_.capacity() * sizeof(pages_[0]);
  }

 private:
  static constexpr std::uint32_t kPageElements = 512;
  struct alignas(64) Page {
    T elements[kPageElements];
  };

  std::vector<std::unique_ptr<Page>> pages_;
  std::uint32_t size_ = 0;
};

}  // namespace timbre::cache
