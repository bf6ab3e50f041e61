// SPDX-License-Identifier: MIT
//
// RowPool: rows of device memory for voices of like size, in pages of one size class each.
//
// Classes are 256 bytes apart; schemas of equal size share one. Rows up to a quarter of a page (at most 64 KiB) are its
// business, larger ones are blobs.
//
// Invariants
//   * A row is free, or taken. It never moves by itself: compaction copies its bytes elsewhere and frees it.
//   * Who owns a row is known only from begin_owners() to end_owners(): compaction asks, and nobody else, so that a
//   pool
//     which never moves rows does not pay four bytes for each of them.
//   * A page has one class as long as it has memory. Its number, and so Place, stays valid until the page is given
//   back.
//   * The pool takes pages only when told to and gives back only empty ones.
// Callers hold the miss lock, but for address(), which needs a lease on the row.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

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
  static constexpr EntryNumber kUnknownOwner = kNoEntry - 1;   ///< of a taken row: a copy may still write it

  struct Row {
    std::uint32_t page = kNoPage;
    std::uint32_t row = 0;
  };

  struct Page {
    device::Address base = 0;            // 0: the page has no memory and its number is free
    std::uint64_t* free_rows = nullptr;  // a bit for each row
    EntryNumber* owners = nullptr;       // [row_count], or null: not known
    std::uint32_t row_bytes = 0;
    std::uint32_t row_count = 0;
    std::uint32_t live_rows = 0;
    std::uint32_t first_free_word = 0;  // no word before it has a free row
    std::uint32_t previous = kNoPage;   // among the pages of its class that have free rows
    std::uint32_t next = kNoPage;       // also: the next free page number
    bool closed = false;                // being emptied: no row of it is taken

    [[nodiscard]] bool full() const { return live_rows == row_count; }
    [[nodiscard]] bool is_free(std::uint32_t row) const { return (free_rows[row / 64] >> (row % 64) & 1U) != 0; }
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
    while (page.free_rows[page.first_free_word] == 0) ++page.first_free_word;
    std::uint64_t& word = page.free_rows[page.first_free_word];
    const Row row{rows.first, page.first_free_word * 64 + static_cast<std::uint32_t>(std::countr_zero(word))};
    word &= word - 1;
    set_owner(row, owner);
    ++page.live_rows;
    change_free_rows(size_class, -1);
    live_bytes_ += page.row_bytes;
    if (page.full()) unlink(row.page);
    return row;
  }

  void give(Row row) {
    Page& page = pages_[row.page];
    const bool was_full = page.full();
    page.free_rows[row.row / 64] |= std::uint64_t{1} << (row.row % 64);
    page.first_free_word = std::min(page.first_free_word, row.row / 64);
    --page.live_rows;
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
    const std::uint32_t words = (count + 63) / 64;
    std::unique_ptr<std::uint64_t[]> free_rows(new (std::nothrow) std::uint64_t[words]);
    std::unique_ptr<EntryNumber[]> owners = knows_owners_ ? unknown_owners(count) : nullptr;
    if (!free_rows || (knows_owners_ && !owners)) {
      return Error{Status::kOutOfMemory, "no memory for the list of a page's rows"};
    }
    Result<device::Address> base = device_.allocate(1);
    if (!base) return std::move(base).error();
    free_number_ = page.next;
    std::fill_n(free_rows.get(), words, ~std::uint64_t{0});
    if (count % 64 != 0) free_rows[words - 1] = (std::uint64_t{1} << (count % 64)) - 1;
    page =
        Page{*base, free_rows.release(), owners.release(), row_bytes(size_class), count, 0, 0, kNoPage, kNoPage, false};
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
    if (!page.full()) unlink(number);
    page.closed = true;
  }

  /// Takes close() back.
  void reopen(std::uint32_t number) {
    Page& page = pages_[number];
    page.closed = false;
    change_free_rows(class_of(page.row_bytes), page.row_count - page.live_rows);
    if (!page.full()) link(number);
  }

  [[nodiscard]] bool knows_owners() const { return knows_owners_; }
  /// From now on owners are kept; set_owner() tells those of the rows that are taken already. @return false without the
  /// memory for it, and nothing has changed.
  [[nodiscard]] bool begin_owners() {
    knows_owners_ = true;
    for (std::uint32_t page = 0; page < pages_.size() && knows_owners_; ++page) {
      if (pages_[page].base == 0) continue;
      pages_[page].owners = unknown_owners(pages_[page].row_count).release();
      if (pages_[page].owners == nullptr) end_owners();
    }
    return knows_owners_;
  }
  void end_owners() {
    knows_owners_ = false;
    for (std::uint32_t page = 0; page < pages_.size(); ++page) delete[] std::exchange(pages_[page].owners, nullptr);
  }
  /// The owner of a row, kNoEntry where it is free, or kUnknownOwner.
  [[nodiscard]] EntryNumber owner(std::uint32_t page, std::uint32_t row) const {
    return pages_[page].is_free(row) ? kNoEntry : pages_[page].owners[row];
  }
  /// Does nothing where owners are not kept.
  void set_owner(Row row, EntryNumber owner) {
    if (pages_[row.page].owners != nullptr) pages_[row.page].owners[row.row] = owner;
  }

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
  /// Host memory for pages and rows.
  [[nodiscard]] std::uint64_t overhead_bytes() const {
    std::uint64_t bytes = pages_.size() * sizeof(Page);
    for (std::uint32_t number = 0; number < pages_.size(); ++number) {
      const Page& page = pages_[number];
      bytes += (page.row_count + 63) / 64 * sizeof(std::uint64_t);
      if (page.owners != nullptr) bytes += page.row_count * sizeof(EntryNumber);
    }
    return bytes;
  }

 private:
  struct SizeClass {
    std::uint32_t first = kNoPage;  // of the pages with free rows
    std::uint64_t pages = 0;
    std::uint64_t free_rows = 0;  // on pages that are not closed
  };

  /// Null without memory.
  static std::unique_ptr<EntryNumber[]> unknown_owners(std::uint32_t count) {
    std::unique_ptr<EntryNumber[]> owners(new (std::nothrow) EntryNumber[count]);
    if (owners) std::fill_n(owners.get(), count, kUnknownOwner);
    return owners;
  }

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
    delete[] page.free_rows;
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
  bool knows_owners_ = false;
};

}  // namespace timbre::cache
