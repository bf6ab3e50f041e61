// SPDX-License-Identifier: MIT
//
// Entry and EntryTable: one cache line for each voice that the cache holds, type-stable until the cache ends.
//
// Invariants
//   * An entry is always an entry: a thread with an old number may count itself in at any time (see entry_word.hpp).
//   * Everything but the word and the tick is written only by the owner of a loading or exclusive entry, and read only
//   by
//     who is counted in on a visible or retired one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>

#include "timbre/cache/entry_queue.hpp"
#include "timbre/cache/entry_word.hpp"
#include "timbre/cache/policy.hpp"
#include "timbre/cache/stable_array.hpp"

namespace timbre::cache {

/// What a stored voice is told apart by: equal only if both numbers are.
struct Version {
  std::uint64_t sequence = 0;
  std::uint64_t checksum = 0;  ///< of the stored bytes

  friend bool operator==(const Version&, const Version&) = default;
};

/// Where an entry's bytes are: a row of a page, or a blob.
struct Place {
  std::uint64_t page : 26 = 0;  ///< of the row pool; the blob's number where `blob`
  std::uint64_t row : 16 = 0;
  std::uint64_t unused_bytes : 8 = 0;  ///< at the end of the row
  std::uint64_t id_bytes : 10 = 0;     ///< 1..512
  std::uint64_t noted : 1 = 0;         ///< the table has a note of this entry
  std::uint64_t blob : 1 = 0;

  void set_row(std::uint32_t page_number, std::uint32_t row_number) {
    page = page_number & kMaxPages;
    row = row_number & 0xFFFFU;
  }
  static Place of_row(std::uint32_t page, std::uint32_t row, std::uint64_t unused) {
    Place place;
    place.set_row(page, row);
    place.unused_bytes = unused & 0xFFU;
    return place;
  }
  static Place of_blob(std::uint32_t number) {
    Place place;
    place.page = number & kMaxPages;
    place.blob = 1;
    return place;
  }
  /// Pages, and blobs, have numbers below it.
  static constexpr std::uint32_t kMaxPages = (1U << 26U) - 1;
};
static_assert(sizeof(Place) == 8);

inline constexpr std::size_t kMaxIdBytes = 512;

struct alignas(64) Entry {
  static constexpr std::size_t kInlineIdBytes = 16;

  EntryWord word;
  std::atomic<std::uint32_t> last_tick{0};
  PolicyNode node;
  Version version;
  Place place;
  std::array<char, kInlineIdBytes> id_storage{};  // the id, or a pointer to it where it is longer

  [[nodiscard]] std::string_view id() const {
    if (place.id_bytes <= kInlineIdBytes) return {id_storage.data(), place.id_bytes};
    return {long_id(), place.id_bytes};
  }

  [[nodiscard]] bool has_id(std::string_view other) const {
    if (other.size() != place.id_bytes) return false;
    if (other.size() == kInlineIdBytes) {  // the common case: no call, no branch for each byte
      std::array<std::uint64_t, 2> mine;
      std::array<std::uint64_t, 2> theirs;
      std::memcpy(mine.data(), id_storage.data(), sizeof mine);
      std::memcpy(theirs.data(), other.data(), sizeof theirs);
      return ((mine[0] ^ theirs[0]) | (mine[1] ^ theirs[1])) == 0;
    }
    return id() == other;
  }

  /// @param id 1..kMaxIdBytes bytes. @return false without memory, and nothing has changed.
  [[nodiscard]] bool set_id(std::string_view id) {
    if (id.size() > kInlineIdBytes) {
      char* const copy = new (std::nothrow) char[id.size()];
      if (copy == nullptr) return false;
      std::memcpy(copy, id.data(), id.size());
      std::memcpy(id_storage.data(), static_cast<const void*>(&copy), sizeof copy);
    } else {
      std::memcpy(id_storage.data(), id.data(), id.size());
    }
    place.id_bytes = id.size() & 0x3FFU;
    return true;
  }

  void clear_id() {
    if (place.id_bytes > kInlineIdBytes) delete[] long_id();
    place.id_bytes = 0;
  }

 private:
  [[nodiscard]] char* long_id() const {
    char* id = nullptr;
    std::memcpy(static_cast<void*>(&id), id_storage.data(), sizeof id);
    return id;
  }
};
static_assert(sizeof(Entry) == 64);

/// Entries by number, with a list of those that are free, and a number of the user's for those that have one. Callers
/// hold the miss lock, but for operator[] and note().
class EntryTable {
 public:
  /// @param max_entries  kMaxPolicyEntry at most count.
  explicit EntryTable(std::uint64_t max_entries)
      : entries_(std::min<std::uint64_t>(max_entries, kMaxPolicyEntry)),
        notes_(std::min<std::uint64_t>(max_entries, kMaxPolicyEntry)) {}
  EntryTable(const EntryTable&) = delete;
  EntryTable& operator=(const EntryTable&) = delete;
  ~EntryTable() {
    for (EntryNumber number = 0; number < entries_.size(); ++number) entries_[number].clear_id();
  }

  /// An empty entry becomes loading. Error: kOutOfMemory.
  [[nodiscard]] Result<EntryNumber> take() {
    if (free_ == kNoEntry) {
      if (Result<void> grown = entries_.grow(); !grown) return std::move(grown).error();
      free_ = static_cast<EntryNumber>(entries_.size() - 1);
      entries_[free_].node.a = kNoEntry;
    }
    const EntryNumber number = free_;
    free_ = entries_[number].node.a;
    entries_[number].word.store(EntryUse::make(EntryState::kLoading));
    ++in_use_;
    return number;
  }

  /// An entry that the caller owns becomes empty.
  void give(EntryNumber number) {
    Entry& entry = entries_[number];
    entry.clear_id();
    entry.place = {};
    entry.node = {free_, 0, 0};
    entry.word.store(EntryUse::make(EntryState::kEmpty));
    free_ = number;
    --in_use_;
  }

  /// Keeps a note (not 0) of an entry that the caller owns. Error: kOutOfMemory, and nothing has changed.
  [[nodiscard]] Result<void> set_note(EntryNumber number, std::uint32_t note) {
    while (notes_.size() <= number) {
      if (Result<void> grown = notes_.grow(); !grown) return grown;
    }
    notes_[number] = note;
    entries_[number].place.noted = 1;
    return {};
  }
  /// The note of an entry that the caller owns or leases; 0: none.
  [[nodiscard]] std::uint32_t note(EntryNumber number) const {
    return entries_[number].place.noted ? notes_[number] : 0;
  }

  [[nodiscard]] Entry& operator[](EntryNumber number) { return entries_[number]; }
  [[nodiscard]] const Entry& operator[](EntryNumber number) const { return entries_[number]; }
  /// Numbers that were ever given out are below it.
  [[nodiscard]] EntryNumber end() const { return static_cast<EntryNumber>(entries_.size()); }
  [[nodiscard]] std::uint64_t in_use() const { return in_use_; }
  [[nodiscard]] std::uint64_t overhead_bytes() const {
    return entries_.size() * sizeof(Entry) + notes_.size() * sizeof(std::uint32_t);
  }

 private:
  StableArray<Entry> entries_;
  StableArray<std::uint32_t> notes_;  // as long as the last entry that has one
  EntryNumber free_ = kNoEntry;
  std::uint64_t in_use_ = 0;
};

}  // namespace timbre::cache
