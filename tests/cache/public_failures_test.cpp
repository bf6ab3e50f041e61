// SPDX-License-Identifier: MIT
//
// Failures that others have reported of their caches and pools, by the number of the report: each test does to this
// cache what was done there.
//
// Here are those that a cache or a device can have. Readings of free memory (FBGEMM PR #5605 in its sizing, pytorch
// #35901, llama.cpp #19437, #17536) belong to the governor; thundering herds (harp #947) to the bank; Redis and SQLite
// (redis-plus-plus, khive #580) to the stores; model mix-ups and poisoned records (caura PR #69, vmlx-swift PR #440) to
// records and stores; a workspace that is allocated late (llama.cpp #18111) also to the synthesizer.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cache_fixture.hpp"
#include "short_form.hpp"
#include "workloads.hpp"

using namespace timbre::cache;        // NOLINT: a test
using namespace timbre::cache::test;  // NOLINT: a test
using timbre::Result;
using timbre::Status;
namespace device = timbre::device;

namespace {

/// Nobody holds anything, and every byte that is held belongs to an entry that lookups find.
/// @param other_pages  of the device, that are not the cache's
template <class Target>
void check_quiet(VoiceCache& cache, const Target& target, std::uint64_t other_pages = 0) {
  cache.poll();
  const CacheStats stats = cache.stats();
  check_no_leases(stats);
  CHECK(stats.held_bytes == (target.usage().live_pages - other_pages) * kPage);
  std::uint64_t rows = 0;
  std::uint64_t blobs = 0;
  for (const EntryInfo& entry : cache.coldest(Pool::kRows, SIZE_MAX)) rows += (entry.bytes + 255) / 256 * 256;
  for (const EntryInfo& entry : cache.coldest(Pool::kBlobs, SIZE_MAX)) blobs += entry.bytes;
  CHECK(stats.rows.live_bytes == rows);
  CHECK(stats.blobs.live_bytes == blobs);
}

/// Where a stream's consumer puts what it reads.
struct Gathered {
  std::uint64_t number;
  std::uint64_t version;
  std::vector<std::uint64_t> words;

  [[nodiscard]] bool is_right() const { return is_payload(words.data(), number, version, words.size() * 8); }
};

/// Gives the read of a lease's bytes to a stream.
Gathered gather(device::Device& target, const Lease& lease, std::uint64_t number, device::Stream stream) {
  Gathered read{number, lease.version().sequence, std::vector<std::uint64_t>(lease.bytes() / 8)};
  REQUIRE(target.download(read.words.data(), lease.address(), lease.bytes(), stream));
  return read;
}

}  // namespace

TEST_CASE("rmm #2039, #1957, cudf-spark #4045: free memory in pieces is told as such, and a blob comes in all the same",
          "[cache][public]") {
  const auto target = host(32 * kMiB, false);
  VoiceCache cache(*target, with_budget(32 * kMiB));
  // Small voices keep the blobs apart; then every second blob goes.
  for (std::uint64_t number = 0; number < 30; ++number) {
    REQUIRE(load(cache, *target, 1000 + number, 1, kMiB));
    for (std::uint64_t row = 0; row < 51; ++row) REQUIRE(load(cache, *target, 5000 + number * 51 + row, 1, kRow));
  }
  for (std::uint64_t number = 0; number < 30; number += 2) cache.remove(id_of(1000 + number));
  const CacheStats before = cache.stats();
  CHECK(before.budget_bytes - before.held_bytes > 12 * kMiB);
  CHECK(before.largest_free_bytes < 3 * kMiB);
  for (const std::uint64_t bytes : {before.largest_free_bytes, 10 * kMiB}) {
    const auto lease = load(cache, *target, bytes, 1, bytes, Admission::kDemand, device::Stream{1 + bytes % 4});
    REQUIRE(lease);
    CHECK(is_whole(*target, *lease, bytes));
  }
  CHECK(cache.stats().transient_inserts == 0);
}

TEST_CASE("rmm #496, FBGEMM PR #5605: a budget beyond what others leave of the device is answered by evictions",
          "[cache][public]") {
  const auto target = host(20 * kMiB);
  const auto others = target->allocate(12 * kMiB / kPage);  // 60 % belongs to somebody else
  REQUIRE(others);
  {
    VoiceCache cache(*target, with_budget(20 * kMiB));
    for (std::uint64_t number = 0; number < 10'000; ++number) {
      const std::uint64_t bytes = number % 50 == 0 ? kMiB + number % 3 * kMiB : kRow + number % 4 * 512;
      const auto lease = load(cache, *target, number, 1, bytes);
      REQUIRE(lease);
      CHECK(is_whole(*target, *lease, number));
    }
    const CacheStats stats = cache.stats();
    CHECK(stats.transient_inserts == 0);
    CHECK(stats.held_bytes <= 8 * kMiB);
    CHECK(stats.held_bytes >= 6 * kMiB);
    check_quiet(cache, *target, 12 * kMiB / kPage);
  }
  target->free(*others, 12 * kMiB / kPage);
}

TEST_CASE("vllm #56830, #55169: others take and free memory meanwhile, and every load is served or told",
          "[cache][public]") {
  const auto target = host(64 * kMiB);
  VoiceCache cache(*target, with_budget(48 * kMiB));
  std::atomic<bool> done{false};
  std::thread others([&] {
    WordStream words(401);
    while (!done) {
      const std::uint64_t pages = 1 + words.below(64 * kMiB / kPage);
      if (const auto run = target->allocate(pages)) {
        std::this_thread::yield();
        target->free(*run, pages);
      }
    }
  });
  std::uint64_t served = 0;
  std::uint64_t told = 0;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    const auto lease = load(cache, *target, number, 1, number % 50 == 0 ? 2 * kMiB : kRow);
    if (lease && is_whole(*target, *lease, number)) ++served;
    if (!lease && lease.error().status == Status::kOutOfMemory) ++told;
  }
  done = true;
  others.join();
  CHECK(served + told == 5000);
  CHECK(served > 2500);
  check_quiet(cache, *target);
}

TEST_CASE("llama.cpp #18111, #23472: a workspace that is wanted late is there after one trim", "[cache][public]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(16 * kMiB));
  for (std::uint64_t number = 0; number < 10'000; ++number) REQUIRE(load(cache, *target, number, 1, kRow));
  for (std::uint64_t number = 0; number < 6; ++number) REQUIRE(load(cache, *target, 20'000 + number, 1, kMiB));
  const Lease lease = cache.lookup(cache.coldest(Pool::kRows, 1).front().id);
  REQUIRE(lease);
  constexpr std::uint64_t kWorkspace = 9 * kMiB / kPage;
  REQUIRE_FALSE(target->allocate(kWorkspace));
  CHECK(cache.trim(kWorkspace * kPage) >= kWorkspace * kPage);
  const auto workspace = target->allocate(kWorkspace);
  REQUIRE(workspace);
  CHECK(lease.version().sequence == 1);
  REQUIRE(load(cache, *target, 30'000, 1, kMiB));  // and the cache goes on with what is left
  target->free(*workspace, kWorkspace);
}

TEST_CASE("LMCache #4133, FBGEMM #1893, #1883: voices that were looked up stay until they were gathered",
          "[cache][public][stream]") {
  const auto target = delayed(64 * kMiB, 41);
  constexpr auto kConsumer = device::Stream{9};
  const std::size_t rounds = short_form("rounds of look-up, flood and gather", 4, 2);
  VoiceCache cache(*target, with_budget(2 * kMiB));
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::string> ids;
    std::vector<std::string_view> views;
    for (std::uint64_t number = 0; number < 64; ++number) {
      REQUIRE(load(cache, *target, number, 1 + round, number % 16 == 0 ? 2 * kPage : kRow));
      ids.push_back(id_of(number));
    }
    for (const std::string& id : ids) views.push_back(id);
    std::vector<Lease> leases(64);
    CHECK(cache.lookup_batch(views, leases) == 64);
    target->hold(kConsumer);
    // Between the look-up and the gather everything else wants room.
    for (std::uint64_t number = 100; number < 300; ++number) {
      REQUIRE(load(cache, *target, round * 1000 + number, 1, number % 20 == 0 ? 3 * kPage : kRow));
    }
    std::vector<Gathered> reads;
    for (std::uint64_t number = 0; number < 64; ++number) {
      reads.push_back(gather(*target, leases[number], number, kConsumer));
      REQUIRE(cache.release_on(leases[number], kConsumer));
    }
    // The consumer has not begun yet, and new versions want the room as well.
    for (std::uint64_t number = 300; number < 500; ++number) {
      REQUIRE(load(cache, *target, round * 1000 + number, 1, kRow));
    }
    cache.trim(2 * kMiB);
    cache.clear();
    CHECK(cache.stats().leases >= 64);
    target->release(kConsumer);
    REQUIRE(target->drain());
    for (const Gathered& read : reads) CHECK(read.is_right());
    check_quiet(cache, *target);
  }
  CHECK(target->violation_count() == 0);
}

TEST_CASE("torchrec PR #4231, pytorch #196257: memory that a slow stream still reads is not given to another voice",
          "[cache][public][stream]") {
  const auto target = delayed(64 * kMiB, 42);
  constexpr auto kLoader = device::Stream{1};
  constexpr auto kConsumer = device::Stream{2};
  // Room for one blob, or one page of rows: whatever comes next wants just these bytes.
  const std::uint64_t bytes = GENERATE(3 * kPage, kRow);
  VoiceCache cache(*target, with_budget(bytes < kPage ? kPage : bytes));
  Lease lease = *load(cache, *target, 1, 1, bytes, Admission::kDemand, kLoader);
  target->hold(kConsumer);
  const Gathered read = gather(*target, lease, 1, kConsumer);
  REQUIRE(cache.release_on(lease, kConsumer));
  cache.remove(id_of(1));
  for (std::uint64_t number = 2; number < 100; ++number) {
    REQUIRE(load(cache, *target, number, 1, bytes, Admission::kDemand, kLoader));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(cache.stats().retired_entries == 1);
  target->release(kConsumer);
  REQUIRE(target->drain());
  CHECK(read.is_right());
  check_quiet(cache, *target);
  CHECK(target->violation_count() == 0);
}

TEST_CASE("pytorch #27366: a second lease on the same bytes given back early frees nothing",
          "[cache][public][stream]") {
  const auto target = delayed(64 * kMiB, 43);
  constexpr auto kConsumer = device::Stream{2};
  VoiceCache cache(*target, with_budget(2 * kPage));
  Lease first = *load(cache, *target, 1, 1, 2 * kPage);
  Lease second = cache.lookup(id_of(1));
  REQUIRE(second);
  CHECK(first.address() == second.address());
  target->hold(kConsumer);
  const Gathered read = gather(*target, second, 1, kConsumer);
  REQUIRE(cache.release_on(second, kConsumer));
  first.release();
  CHECK(cache.trim(2 * kPage) == 0);
  REQUIRE(load(cache, *target, 2, 1, 2 * kPage));
  CHECK(cache.stats().transient_inserts == 1);
  target->release(kConsumer);
  REQUIRE(target->drain());
  CHECK(read.is_right());
  CHECK(cache.trim(2 * kPage) == 2 * kPage);
  CHECK(target->violation_count() == 0);
}

TEST_CASE("LMCache #3381, #2772: a lease is given back once, whoever asks again", "[cache][public][lease]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(kMiB));
  Lease published = *load(cache, *target, 1, 1, kRow);
  Lease lease = cache.lookup(id_of(1));
  Lease other = cache.lookup(id_of(1));
  CHECK(cache.stats().leases == 3);
  lease.release();
  for (int i = 0; i < 3; ++i) {
    lease.release();
    CHECK(cache.release_on(lease, device::Stream{1}));
    cache.poll();
    CHECK(cache.stats().leases == 2);
  }
  REQUIRE(cache.release_on(published, device::Stream{1}));
  published.release();
  REQUIRE(cache.release_on(published, device::Stream{1}));
  CHECK(cache.stats().leases == 1);
  Lease moved = std::move(other);
  other.release();                                      // NOLINT: a lease that was moved from is none
  REQUIRE(cache.release_on(other, device::Stream{1}));  // NOLINT: as above
  CHECK(cache.stats().leases == 1);
  CHECK(is_whole(*target, moved, 1));
  cache.remove(id_of(1));
  CHECK(cache.stats().retired_entries == 1);
  moved = Lease();
  check_quiet(cache, *target);
}

TEST_CASE("LMCache #2772: what was published cannot be published again", "[cache][public][lease]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(kMiB));
  auto room = cache.reserve(id_of(1), kRow, {1, 1});
  REQUIRE(room);
  const auto first = cache.publish(std::move(*room));
  REQUIRE(first);
  CHECK(cache.publish(std::move(*room)).error().status == Status::kInvalidArgument);  // NOLINT: that is the point
  CHECK(cache.stats().leases == 1);
  CHECK(cache.stats().rows.entries == 1);
}

TEST_CASE("LMCache #987: voices that leases kept from going can go later, and the hit rate comes back",
          "[cache][public][lease]") {
  const auto target = host(16 * kMiB);
  const PolicyKind kind = GENERATE(PolicyKind::kAuto, PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kS3Fifo);
  VoiceCache cache(*target, with_budget(kMiB, kind));
  std::deque<Lease> leases;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    leases.push_back(*load(cache, *target, number, 1, kRow));
    if (leases.size() > 700) leases.pop_front();  // nearly all of the budget is leased all the time
  }
  leases.clear();
  check_quiet(cache, *target);
  std::uint64_t hits = 0;
  for (int round = 0; round < 4; ++round) {
    hits = 0;
    for (std::uint64_t number = 10'000; number < 10'400; ++number) {
      if (cache.lookup(id_of(number))) {
        ++hits;
      } else {
        REQUIRE(load(cache, *target, number, 1, kRow));
      }
    }
  }
  CHECK(hits == 400);
}

TEST_CASE(
    "HierarchicalKV PR #141, HugeCTR #76, #104: a batch of repeated, unknown, reserved and empty ids tells of each",
    "[cache][public][batch]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(kMiB));
  const std::array<std::string, 6> reserved = {
      std::string(8, '\xFF'), std::string(16, '\0'), std::string(1, '\0'), std::string(16, '\xFF'), "-1",
      "__redis__:invalidate"};
  for (std::size_t i = 0; i < reserved.size(); ++i) {
    CHECK_FALSE(cache.lookup(reserved[i]));
    auto room = cache.reserve(reserved[i], 64, {i, 77});
    REQUIRE(room);
    *reinterpret_cast<std::uint64_t*>(room->address()) = i;
    REQUIRE(cache.publish(std::move(*room)));
  }
  const std::string too_long(513, 'x');
  const std::string zeros(15, '\0');  // shorter than one that is there
  std::vector<std::string_view> ids;
  for (int twice = 0; twice < 2; ++twice) {
    for (const std::string& id : reserved) ids.push_back(id);
    for (const std::string_view id : {std::string_view("unknown"), std::string_view(), std::string_view(too_long),
                                      std::string_view(zeros), std::string_view("unknown")}) {
      ids.push_back(id);
    }
  }
  std::vector<Lease> leases(ids.size());
  CHECK(cache.lookup_batch(ids, leases) == 2 * reserved.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t at = i % (ids.size() / 2);
    REQUIRE(static_cast<bool>(leases[i]) == (at < reserved.size()));
    if (!leases[i]) continue;
    CHECK(leases[i].id() == reserved[at]);
    CHECK(leases[i].version() == Version{at, 77});
    CHECK(*reinterpret_cast<const std::uint64_t*>(leases[i].address()) == at);
  }
  CHECK(cache.stats().leases == 2 * reserved.size());
  // A batch may come into leases that are still out, and may be empty.
  CHECK(cache.lookup_batch(ids, leases) == 2 * reserved.size());
  CHECK(cache.stats().leases == 2 * reserved.size());
  CHECK(cache.lookup_batch({}, {}) == 0);
  leases.clear();
  check_quiet(cache, *target);
}

TEST_CASE("HierarchicalKV #110, #242: every voice that a flood displaced is counted, and found no more",
          "[cache][public]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(kMiB));
  constexpr std::uint64_t kCount = 4000;
  for (std::uint64_t number = 0; number < kCount; ++number) REQUIRE(load(cache, *target, number, 1, kRow));
  const CacheStats stats = cache.stats();
  CHECK(stats.rows.inserts == kCount);
  CHECK(stats.rows.entries + stats.rows.evictions[static_cast<std::size_t>(EvictionCause::kRoom)] == kCount);
  std::uint64_t there = 0;
  for (std::uint64_t number = 0; number < kCount; ++number) {
    const Lease lease = cache.lookup(id_of(number));
    if (!lease) continue;
    ++there;
    CHECK(is_whole(*target, lease, number));
  }
  CHECK(there == stats.rows.entries);
  CHECK(cache.coldest(Pool::kRows, SIZE_MAX).size() == there);
}
