// SPDX-License-Identifier: MIT
//
// The parts below the pools, each beside plain code that does the same: the index, rows, blobs; and what happens at the
// end of a table.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache_fixture.hpp"
#include "short_form.hpp"
#include "workloads.hpp"

using namespace timbre::cache;        // NOLINT: a test
using namespace timbre::cache::test;  // NOLINT: a test
using timbre::Status;

namespace {

bool is_in(const IdIndex& index, std::uint32_t tag, EntryNumber entry) {
  return index.find(tag, [&](EntryNumber found) { return found == entry; });
}

/// An index beside the map that it must equal.
class IndexPair {
 public:
  void insert(std::uint32_t tag, EntryNumber entry) {
    REQUIRE(index.prepare_insert());
    index.insert(tag, entry);
    expected[entry] = tag;
  }
  void erase(EntryNumber entry) {
    index.erase(expected.at(entry), entry);
    expected.erase(entry);
  }
  void replace(EntryNumber before, EntryNumber after) {
    index.replace(expected.at(before), before, after);
    expected[after] = expected.at(before);
    expected.erase(before);
  }

  /// Entries of the map that the index does not show, and entries below `end` that it shows beside them.
  [[nodiscard]] std::uint64_t differences(EntryNumber end) const {
    std::uint64_t count = 0;
    std::map<std::uint32_t, std::set<EntryNumber>> by_tag;
    for (const auto& [entry, tag] : expected) by_tag[tag].insert(entry);
    for (const auto& [tag, entries] : by_tag) {
      std::set<EntryNumber> shown;
      index.find(tag, [&, only = tag](EntryNumber entry) {
        if (entry >= end || expected.count(entry) == 0 || expected.at(entry) != only || !shown.insert(entry).second) {
          ++count;
        }
        return false;
      });
      count += entries.size() - shown.size();
    }
    return count;
  }

  IdIndex index;
  std::unordered_map<EntryNumber, std::uint32_t> expected;
};

/// Tags as hashes give them, and worse: homes close together, at the end of the table, and the same tag often.
std::uint32_t draw_tag(WordStream& words) {
  switch (words.below(4)) {
    case 0:
      return UINT32_MAX - words.below(1U << 16U);
    case 1:
      return words.below(1U << 16U);
    case 2:
      return 0x5000'0000U + words.below(8);
    default:
      return words.word();
  }
}

/// A row pool beside plain lists of what it must hold.
class RowPair {
 public:
  explicit RowPair(timbre::device::HostDevice& target) : rows(target, 1000), target_(target) {}

  void step(EntryNumber owner) {
    const std::uint32_t what = words_.below(100);
    if (what < 45) {
      take(kClasses[words_.below(3)], owner);
    } else if (what < 85) {
      if (!owners_.empty()) give();
    } else if (what < 98) {
      if (!class_of_page_.empty()) change_page();
    } else if (rows.knows_owners()) {
      rows.end_owners();
    } else {
      REQUIRE(rows.begin_owners());
      for (const auto& [at, its_owner] : owners_) {
        CHECK(rows.owner(at.first, at.second) == RowPool::kUnknownOwner);
        rows.set_owner({at.first, at.second}, its_owner);
      }
    }
  }

  void compare() const {
    CHECK(rows.page_count() == class_of_page_.size());
    CHECK(rows.held_bytes() == target_.usage().live_pages * kPage);
    std::uint64_t live = 0;
    for (const auto& [at, owner] : owners_) {
      live += RowPool::row_bytes(class_of_page_.at(at.first));
      if (rows.knows_owners()) CHECK(rows.owner(at.first, at.second) == owner);
    }
    CHECK(rows.live_bytes() == live);
    std::uint64_t largest = 0;
    for (const std::uint32_t c : kClasses) {
      const std::uint64_t free = free_rows(c);
      if (free > 0) largest = RowPool::row_bytes(c);
      CHECK(rows.has_spare_page(c) == (free >= rows.rows_per_page(c)));
      CHECK((rows.next_spare_class(c) == c) == rows.has_spare_page(c));
    }
    CHECK(rows.largest_free_row_bytes() == largest);
  }

  RowPool rows;

 private:
  static constexpr std::array<std::uint32_t, 3> kClasses = {1, 5, 64};  // 256 bytes, 1,280, a quarter of a page

  void take(std::uint32_t size_class, EntryNumber owner) {
    const auto row = rows.take(size_class, owner);
    if (!row) {
      CHECK(free_rows(size_class) == 0);
      if (class_of_page_.size() < 12) add_page(size_class);
      return;
    }
    CHECK(owners_.emplace(std::pair(row->page, row->row), owner).second);
    CHECK(class_of_page_.at(row->page) == size_class);
    CHECK(closed_.count(row->page) == 0);
    CHECK(row->row < rows.rows_per_page(size_class));
    CHECK(rows.address(row->page, row->row) % 256 == 0);
  }

  void add_page(std::uint32_t size_class) {
    REQUIRE(rows.add_page(size_class));
    for (std::uint32_t page = 0; page < rows.page_numbers(); ++page) {
      if (rows.page(page).base != 0) class_of_page_.emplace(page, size_class);
    }
  }

  void give() {
    auto gone = owners_.lower_bound({words_.below(rows.page_numbers()), words_.below(300)});
    if (gone == owners_.end()) gone = owners_.begin();
    const auto [page, row] = gone->first;
    if (rows.knows_owners()) CHECK(rows.owner(page, row) == gone->second);
    rows.give({page, row});
    CHECK(rows.owner(page, row) == kNoEntry);
    owners_.erase(gone);
  }

  void change_page() {
    auto picked = class_of_page_.lower_bound(words_.below(rows.page_numbers()));
    if (picked == class_of_page_.end()) picked = class_of_page_.begin();
    const std::uint32_t page = picked->first;
    if (rows.page(page).live_rows == 0) {
      rows.remove_page(page);
      closed_.erase(page);
      class_of_page_.erase(picked);
    } else if (closed_.erase(page) != 0) {
      rows.reopen(page);
    } else {
      rows.close(page);
      closed_.insert(page);
    }
  }

  [[nodiscard]] std::uint64_t free_rows(std::uint32_t size_class) const {
    std::uint64_t sum = 0;
    for (const auto& [page, its_class] : class_of_page_) {
      if (its_class != size_class || closed_.count(page) != 0) continue;
      sum += rows.rows_per_page(size_class);
      for (const auto& [at, owner] : owners_) sum -= at.first == page ? 1U : 0U;
    }
    return sum;
  }

  timbre::device::HostDevice& target_;
  WordStream words_{320};
  std::map<std::pair<std::uint32_t, std::uint32_t>, EntryNumber> owners_;  // by page and row
  std::map<std::uint32_t, std::uint32_t> class_of_page_;
  std::set<std::uint32_t> closed_;
};

}  // namespace

TEST_CASE("the index holds what a map holds, whatever was inserted, replaced and erased", "[cache][index]") {
  IndexPair pair;
  WordStream words(301);
  constexpr EntryNumber kEnd = 600;
  std::vector<EntryNumber> free;
  std::vector<EntryNumber> used;
  for (EntryNumber entry = 0; entry < kEnd; ++entry) free.push_back(entry);
  const std::size_t operations = short_form("operations on the index", 200'000, 40'000);
  for (std::size_t i = 0; i < operations; ++i) {
    // By turns it fills and empties: long runs, and gaps in them.
    const bool filling = i / 2000 % 2 == 0;
    const bool inserts = words.below(100) < (filling ? 70U : 30U);
    if (inserts && !free.empty()) {
      const std::size_t at = words.below(static_cast<std::uint32_t>(free.size()));
      std::swap(free[at], free.back());
      pair.insert(draw_tag(words), free.back());
      used.push_back(free.back());
      free.pop_back();
    } else if (!used.empty()) {
      const std::size_t at = words.below(static_cast<std::uint32_t>(used.size()));
      std::swap(used[at], used.back());
      const EntryNumber entry = used.back();
      if (words.one_in(4) && !free.empty()) {
        pair.replace(entry, free.back());
        std::swap(used.back(), free.back());
      } else {
        pair.erase(entry);
        used.pop_back();
        free.push_back(entry);
      }
    }
    if (i % 100 == 0) REQUIRE(pair.differences(kEnd) == 0);
    if (pair.index.size() != pair.expected.size()) FAIL("the index counts " << pair.index.size());
  }
  while (!used.empty()) {
    pair.erase(used.back());
    used.pop_back();
  }
  CHECK(pair.index.size() == 0);
  CHECK(pair.differences(kEnd) == 0);
}

TEST_CASE("an empty index and one that was never filled find nothing", "[cache][index]") {
  IdIndex index;
  CHECK_FALSE(index.find(7, [](EntryNumber) { return true; }));
  CHECK(index.overhead_bytes() == 0);
  REQUIRE(index.prepare_insert());
  CHECK_FALSE(index.find(7, [](EntryNumber) { return true; }));
}

TEST_CASE("readers of a growing index may overlook what moves, and find it under the lock", "[cache][index]") {
  IdIndex index;
  std::mutex mutex;
  std::atomic<EntryNumber> shown{0};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> found{0};
  const auto tag_of = [](EntryNumber entry) { return static_cast<std::uint32_t>(entry * 0x9E3779B1U); };
  const auto count = static_cast<EntryNumber>(short_form("entries of a growing index", 100'000, 20'000));
  constexpr EntryNumber kPassing = 1U << 28U;  // entries that come and go between the others
  const auto read = [&](std::uint32_t stream) {
    WordStream words(stream);
    while (shown.load(std::memory_order_acquire) < count) {
      const EntryNumber end = shown.load(std::memory_order_acquire);
      if (end == 0) continue;
      const EntryNumber entry = words.below(end);
      if (is_in(index, tag_of(entry), entry)) {
        found.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      const std::lock_guard lock(mutex);
      if (!is_in(index, tag_of(entry), entry)) lost.fetch_add(1, std::memory_order_relaxed);
    }
  };
  std::vector<std::thread> readers;
  for (std::uint32_t i = 0; i < 3; ++i) readers.emplace_back(read, 310 + i);
  bool grown = true;
  for (EntryNumber entry = 0; entry < count; ++entry) {
    const std::lock_guard lock(mutex);
    grown = grown && index.prepare_insert().ok();
    index.insert(tag_of(entry) + 1, kPassing + entry);
    grown = grown && index.prepare_insert().ok();
    index.insert(tag_of(entry), entry);
    if (entry >= 10) index.erase(tag_of(entry - 10) + 1, kPassing + entry - 10);
    shown.store(entry + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(grown);
  CHECK(lost == 0);
  CHECK(found > 0);
  CHECK(index.size() == count + 10);
}

TEST_CASE("ids of the same tag are told apart, and a look-up of one leaves no lease on the other", "[cache][index]") {
  // Of 200,000 ids a few share their 32 bits of hash.
  std::unordered_map<std::uint32_t, std::uint64_t> seen;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> twins;
  for (std::uint64_t number = 0; number < 200'000; ++number) {
    const auto tag = static_cast<std::uint32_t>(timbre::hash_bytes(id_of(number), 0) >> 32U);
    const auto [before, is_new] = seen.emplace(tag, number);
    if (!is_new) twins.emplace_back(before->second, number);
  }
  REQUIRE_FALSE(twins.empty());
  const auto target = host(16 * kMiB);
  CacheOptions options;
  options.budget_bytes = kMiB;
  VoiceCache cache(*target, options);
  for (const auto& [one, another] : twins) {
    REQUIRE(load(cache, *target, one, 1, 1280));
    CHECK_FALSE(cache.lookup(id_of(another)));
    CHECK(cache.stats().leases == 0);
    CHECK(cache.stats().hits == 0);
    REQUIRE(load(cache, *target, another, 1, 1280));
    CHECK(cache.remove(id_of(one)));
    CHECK_FALSE(cache.lookup(id_of(one)));
    CHECK(cache.remove(id_of(another)));
    CHECK(cache.stats().rows.live_bytes == 0);
  }
}

TEST_CASE("rows are free or owned by one, however pages come, close, open again and go", "[cache][rows]") {
  const auto target = host(64 * kMiB);
  {
    RowPair pair(*target);
    for (EntryNumber i = 0; i < 6000; ++i) {
      pair.step(i);
      if (i % 50 == 0) pair.compare();
    }
    CHECK(pair.rows.page_count() > 0);
  }
  CHECK(target->usage().live_pages == 0);
}

TEST_CASE("a page that the device refuses leaves the rows as they were", "[cache][rows]") {
  const auto target = host(2 * kPage);
  RowPool rows(*target, 1000);
  REQUIRE(rows.add_page(5));
  REQUIRE(rows.add_page(5));
  CHECK(rows.add_page(5).error().status == Status::kOutOfMemory);
  CHECK(rows.page_count() == 2);
  CHECK(rows.has_spare_page(5));
  REQUIRE(target->set_capacity(3 * kPage));
  REQUIRE(rows.add_page(5));
  CHECK(rows.page_count() == 3);
}

TEST_CASE("blobs are counted in whole pages, transient ones apart, refused ones not at all", "[cache][blobs]") {
  const auto target = host(10 * kPage);
  BlobPool blobs(*target, 4);
  const std::uint32_t small = *blobs.take(kPage + 1, false);
  const std::uint32_t passing = *blobs.take(1, true);
  CHECK(blobs.held_bytes() == 2 * kPage);
  CHECK(blobs.live_bytes() == kPage + 1);
  CHECK(blobs.transient_bytes() == kPage);
  CHECK(blobs.take(8 * kPage, false).error().status == Status::kOutOfMemory);
  CHECK(blobs.held_bytes() == 2 * kPage);
  const std::uint32_t large = *blobs.take(7 * kPage, false);
  CHECK(target->usage().live_pages == 10);
  CHECK(blobs.longest_free_run(100) == 0);
  blobs.give(small);
  CHECK(blobs.longest_free_run(100) == 2);
  CHECK(blobs.longest_free_run(1) == 1);
  CHECK(target->usage().live_pages == 8);
  CHECK(*blobs.take(1, false) == small);  // its number serves again
  CHECK(blobs.blob(large).pages == 7);
  blobs.give(large);
  blobs.give(passing);
  CHECK(blobs.transient_bytes() == 0);
  CHECK(blobs.held_bytes() == kPage);
  CHECK(blobs.live_bytes() == 1);
}

TEST_CASE("no more entries than the table may have come in, and none of them is lost", "[cache][table]") {
  const auto target = host(64 * kMiB);
  CacheOptions options;
  options.budget_bytes = 16 * kMiB;
  options.max_entries = 100;
  VoiceCache cache(*target, options);
  for (std::uint64_t number = 0; number < 100; ++number) REQUIRE(load(cache, *target, number, 1, 1280));
  const CacheStats before = cache.stats();
  for (int i = 0; i < 3; ++i) {
    CHECK(load(cache, *target, 1000, 1, 1280).error().status == Status::kOutOfMemory);
    CHECK(load(cache, *target, 5, 2, 1280).error().status == Status::kOutOfMemory);  // two versions are two entries
  }
  for (std::uint64_t number = 0; number < 100; ++number) {
    const Lease lease = cache.lookup(id_of(number));
    REQUIRE(lease);
    CHECK(is_whole(*target, lease, number));
    CHECK(lease.version().sequence == 1);
  }
  CHECK(cache.stats().held_bytes == before.held_bytes);
  CHECK(cache.stats().rows.live_bytes == before.rows.live_bytes);
  CHECK(cache.remove(id_of(7)));
  REQUIRE(load(cache, *target, 1000, 1, 1280));
  CHECK(cache.lookup(id_of(1000)));
}

TEST_CASE("a cache for no entries refuses them, and finds none", "[cache][table]") {
  const auto target = host(kMiB);
  CacheOptions options;
  options.budget_bytes = kMiB;
  options.max_entries = 0;
  VoiceCache cache(*target, options);
  CHECK(cache.reserve("a", 100, {}).error().status == Status::kOutOfMemory);
  CHECK_FALSE(cache.lookup("a"));
  CHECK(cache.stats().held_bytes == 0);
}

TEST_CASE("a page has no more rows than an entry can name", "[cache][rows]") {
  timbre::device::HostDeviceOptions large;
  large.capacity_bytes = 64 * kMiB;
  large.page_bytes = 32 * kMiB;
  const auto target = *timbre::device::HostDevice::create(large);
  RowPool rows(*target, 10);
  CHECK(rows.rows_per_page(1) == 65'536);
  CHECK(rows.rows_per_page(5) == 32 * kMiB / 1280);
  Place place = Place::of_row(3, rows.rows_per_page(1) - 1, 255);
  CHECK(place.page == 3);
  CHECK(place.row == 65'535);
  CHECK(place.unused_bytes == 255);
}
