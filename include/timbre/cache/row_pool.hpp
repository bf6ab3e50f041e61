// SPDX-License-Identifier: MIT
//
// RowPool: rows of device memory for voices of like size, in pages of one size class each.
//
// Classes are 256 bytes apart; schemas of equal size share one. Rows up to a quarter of a page (at most 64 KiB) are its
// business, larger ones are blobs.
//
// Invariants
//   * A row is on its page's free list, or has an owner. It never moves by itself: compaction copies its bytes
//   elsewhere and
//     frees it.
//   * A page has one class as long as it has memory. Its number, and so Place, stays valid until the page is given
//   back.
//   * The pool takes pages only when told to and gives back only empty ones.
// Callers hold the miss lock, but for address(), which needs a lease on the row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include "timbre/cache/policy.hpp"
#include "timbre/cache/stable_array.hpp"
#include "timbre/device/device.hpp"

namespace timbre::cache {

inline constexpr std::uint32_t kNoPage = UINT32_MAX;

class RowPool {
 public:
  static constexpr std::size_t kClassStepBytes = 256;
  static constexpr std::size_t kMaxRowBytes = std::size_t{64} << 10U;
  static constexpr std::size_t kClassCount = kMaxRowBytes / kClassStepBytes + 1;
  static constexpr std::uint32_t kMaxRowsPerPage = 1U << 16U;  ///< Place has 16 bits for a row
  static constexpr EntryNumber kBeingCopied = 0x7FFFFFFFU;     ///< owner of a row that a copy may still write

  struct Row {
    std::uint32_t page = kNoPage;
    std::uint32_t row = 0;
  };

  struct Page {
    device::Address base = 0;         // 0: the page has no memory and its number is free
    std::uint32_t* owners = nullptr;  // [row_count]: the entry's number, or the next free row | kFreeRow
    std::uint32_t row_bytes = 0;
    std::uint32_t row_count = 0;
    std::uint32_t live_rows = 0;
    std::uint32_t first_free = 0;      // row_count: none
    std::uint32_t previous = kNoPage;  // among the pages of its class that have free rows
    std::uint32_t next = kNoPage;      // also: the next free page number
    bool closed = false;               // being emptied: no row of it is taken
  };

  RowPool(device::Device& device, std::uint64_t max_pages)
      : device_(device), page_bytes_(device.properties().page_bytes), pages_(max_pages) {}
  RowPool(const RowPool&) = delete;
  RowPool& operator=(const RowPool&) = delete;
  ~RowPool() {
    for (std::uint32_t page = 0; page < pages_.size(); ++page) {
      if (pages_[page].base != 0) release(pages_[page]);
    }
  }

  /// The largest row that this pool serves, in bytes.
  [[nodiscard]] std::size_t max_row_bytes() const {
    const std::size_t quarter = page_bytes_ / 4;
    return quarter < kMaxRowBytes ? quarter : kMaxRowBytes;
  }
  [[nodiscard]] static std::uint32_t class_of(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + kClassStepBytes - 1) / kClassStepBytes);
  }
  [[nodiscard]] static std::uint32_t row_bytes(std::uint32_t size_class) {
    return size_class * static_cast<std::uint32_t>(kClassStepBytes);
  }
  [[nodiscard]] std::uint32_t rows_per_page(std::uint32_t size_class) const {
    const std::size_t rows = page_bytes_ / row_bytes(size_class);
    return rows < kMaxRowsPerPage ? static_cast<std::uint32_t>(rows) : kMaxRowsPerPage;
  }

  /// A free row on a page that is there, or nothing.
  [[nodiscard]] std::optional<Row> take(std::uint32_t size_class, EntryNumber owner) {
    SizeClass& rows = classes_[size_class];
    if (rows.first == kNoPage) return std::nullopt;
    Page& page = pages_[rows.first];
    const Row row{rows.first, page.first_free};
    page.first_free = page.owners[row.row] & ~kFreeRow;
    page.owners[row.row] = owner;
    ++page.live_rows;
    ++rows.live_rows;
    change_free_rows(size_class, -1);
    live_bytes_ += page.row_bytes;
    if (page.first_free == page.row_count) unlink(row.page);
    return row;
  }

  void give(Row row) {
    Page& page = pages_[row.page];
    SizeClass& rows = classes_[class_of(page.row_bytes)];
    const bool was_full = page.first_free == page.row_count;
    page.owners[row.row] = page.first_free | kFreeRow;
    page.first_free = row.row;
    --page.live_rows;
    --rows.live_rows;
    live_bytes_ -= page.row_bytes;
    if (page.closed) return;
    change_free_rows(class_of(page.row_bytes), 1);
    if (was_full) link(row.page);
  }

  /// Takes a page from the device for rows of this class. Errors: the device's; kOutOfMemory.
  [[nodiscard]] Result<void> add_page(std::uint32_t size_class) {
    if (free_number_ == kNoPage) {
      if (Result<void> grown = pages_.grow(); !grown) return grown;
      free_number_ = static_cast<std::uint32_t>(pages_.size() - 1);
    }
    const std::uint32_t number = free_number_;
    Page& page = pages_[number];
    const std::uint32_t count = rows_per_page(size_class);
    auto owners = std::make_unique<std::uint32_t[]>(count);
    Result<device::Address> base = device_.allocate(1);
    if (!base) return std::move(base).error();
    free_number_ = page.next;
    page = Page{*base, owners.release(), row_bytes(size_class), count, 0, 0, kNoPage, kNoPage, false};
    for (std::uint32_t row = 0; row < count; ++row) page.owners[row] = (row + 1) | kFreeRow;
    change_free_rows(size_class, count);
    ++classes_[size_class].pages;
    ++page_count_;
    link(number);
    return {};
  }

  /// Gives an empty page back to the device.
  void remove_page(std::uint32_t number) {
    Page& page = pages_[number];
    SizeClass& rows = classes_[class_of(page.row_bytes)];
    if (!page.closed) close(number);
    --rows.pages;
    --page_count_;
    release(page);
    page.next = free_number_;
    free_number_ = number;
  }

  /// Rows of this page are no longer taken; give() is still right.
  void close(std::uint32_t number) {
    Page& page = pages_[number];
    change_free_rows(class_of(page.row_bytes), -static_cast<std::int64_t>(page.row_count - page.live_rows));
    if (page.first_free != page.row_count) unlink(number);
    page.closed = true;
  }

  /// Takes close() back.
  void reopen(std::uint32_t number) {
    Page& page = pages_[number];
    page.closed = false;
    change_free_rows(class_of(page.row_bytes), page.row_count - page.live_rows);
    if (page.first_free != page.row_count) link(number);
  }

  /// The owner of a row, or kNoEntry where it is free.
  [[nodiscard]] EntryNumber owner(std::uint32_t page, std::uint32_t row) const {
    const std::uint32_t owner = pages_[page].owners[row];
    return (owner & kFreeRow) != 0 ? kNoEntry : owner;
  }
  void set_owner(Row row, EntryNumber owner) { pages_[row.page].owners[row.row] = owner; }

  [[nodiscard]] const Page& page(std::uint32_t number) const { return pages_[number]; }
  [[nodiscard]] device::Address address(std::uint64_t page, std::uint64_t row) const {
    return pages_[page].base + row * pages_[page].row_bytes;
  }
  [[nodiscard]] std::uint32_t page_numbers() const { return static_cast<std::uint32_t>(pages_.size()); }
  [[nodiscard]] std::uint64_t page_count() const { return page_count_; }
  /// Whether the free rows of a class are as many as a page has, so that compaction can empty one.
  [[nodiscard]] bool has_spare_page(std::uint32_t size_class) const {
    return size_class != 0 && classes_[size_class].free_rows >= rows_per_page(size_class);
  }
  /// A class with a spare page at or after `from`, or kClassCount.
  [[nodiscard]] std::uint32_t next_spare_class(std::uint32_t from) const {
    for (; from < kClassCount; from = (from / 64 + 1) * 64) {
      const std::uint64_t left = spare_[from / 64] >> (from % 64);
      if (left != 0) return from + static_cast<std::uint32_t>(std::countr_zero(left));
    }
    return kClassCount;
  }
  /// The first page of a class that has free rows; Page::next leads on. kNoPage: none.
  [[nodiscard]] std::uint32_t first_open_page(std::uint32_t size_class) const { return classes_[size_class].first; }
  [[nodiscard]] std::uint64_t page_count(std::uint32_t size_class) const { return classes_[size_class].pages; }
  /// The largest row that is free on a page that is there; 0: none.
  [[nodiscard]] std::uint64_t largest_free_row_bytes() const {
    for (std::uint32_t c = kClassCount; c-- > 0;) {
      if (classes_[c].free_rows > 0) return row_bytes(c);
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return live_bytes_; }
  [[nodiscard]] std::uint64_t held_bytes() const { return page_count_ * page_bytes_; }

 private:
  static constexpr std::uint32_t kFreeRow = 0x80000000U;

  struct SizeClass {
    std::uint32_t first = kNoPage;  // of the pages with free rows
    std::uint64_t pages = 0;
    std::uint64_t live_rows = 0;
    std::uint64_t free_rows = 0;  // on pages that are not closed
  };

  void change_free_rows(std::uint32_t size_class, std::int64_t more) {
    classes_[size_class].free_rows += static_cast<std::uint64_t>(more);
    const std::uint64_t bit = std::uint64_t{1} << (size_class % 64);
    std::uint64_t& word = spare_[size_class / 64];
    word = has_spare_page(size_class) ? word | bit : word & ~bit;
  }

  void link(std::uint32_t number) {
    SizeClass& rows = classes_[class_of(pages_[number].row_bytes)];
    pages_[number].previous = kNoPage;
    pages_[number].next = rows.first;
    if (rows.first != kNoPage) pages_[rows.first].previous = number;
    rows.first = number;
  }

  void unlink(std::uint32_t number) {
    Page& page = pages_[number];
    SizeClass& rows = classes_[class_of(page.row_bytes)];
    if (page.previous != kNoPage) pages_[page.previous].next = page.next;
    if (page.next != kNoPage) pages_[page.next].previous = page.previous;
    if (rows.first == number) rows.first = page.next;
    page.previous = page.next = kNoPage;
  }

  void release(Page& page) {
    device_.free(page.base, 1);
    delete[] page.owners;
    page = Page{};
  }

  device::Device& device_;
  std::size_t page_bytes_;
  StableArray<Page> pages_;
  std::array<SizeClass, kClassCount> classes_{};
  std::array<std::uint64_t, kClassCount / 64 + 1> spare_{};  // a bit for each class that has a spare page
  std::uint32_t free_number_ = kNoPage;
  std::uint64_t page_count_ = 0;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace timbre::cache
