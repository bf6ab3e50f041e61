// SPDX-License-Identifier: MIT
#include "timbre/cache/voice_cache.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <thread>

#include "cache_fixture.hpp"

using namespace timbre::cache;        // NOLINT: a test
using namespace timbre::cache::test;  // NOLINT: a test
using timbre::Status;

namespace {

void fill(VoiceCache& cache, timbre::device::Device& device, std::uint64_t count, std::uint64_t bytes = kRow) {
  for (std::uint64_t number = 0; number < count; ++number) REQUIRE(load(cache, device, number, 1, bytes));
}

}  // namespace

TEST_CASE("a voice that was published is found by its id, with its version and its bytes", "[cache]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  CHECK_FALSE(cache.lookup(id_of(1)));
  REQUIRE(load(cache, *device, 1, 5, kRow));
  const Lease lease = cache.lookup(id_of(1));
  REQUIRE(lease);
  CHECK(lease.id() == id_of(1));
  CHECK(lease.version() == Version{5, 1});
  CHECK(lease.bytes() == kRow);
  CHECK(is_whole(*device, lease, 1));
  CHECK_FALSE(cache.lookup(id_of(2)));
  const CacheStats stats = cache.stats();
  CHECK(stats.hits == 1);
  CHECK(stats.misses == 2);
  CHECK(stats.leases == 1);
}

TEST_CASE("ids of 1 to 512 bytes are compared in full", "[cache][id]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(4 * kMiB, PolicyKind::kLru));
  std::vector<std::string> ids;
  for (const std::size_t length : {1U, 15U, 16U, 17U, 511U, 512U}) {
    ids.emplace_back(length, 'a');
    ids.push_back(ids.back());
    ids.back().back() = 'b';
    ids.push_back(ids[ids.size() - 2]);
    ids.back().front() = 'c';
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto room = cache.reserve(ids[i], 64, {i, 0});
    REQUIRE(room);
    REQUIRE(cache.publish(std::move(*room)));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == "c" && i > 2) continue;
    const Lease lease = cache.lookup(ids[i]);
    REQUIRE(lease);
    CHECK(lease.id() == ids[i]);
  }
  CHECK(cache.reserve("", 64, {}).error().status == Status::kInvalidArgument);
  CHECK(cache.reserve(std::string(513, 'x'), 64, {}).error().status == Status::kInvalidArgument);
  CHECK(cache.reserve("x", 0, {}).error().status == Status::kInvalidArgument);
}

TEST_CASE("a lease keeps the old version while the voice is put again", "[cache][lease]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  Lease old = *load(cache, *device, 1, 1, kRow);
  REQUIRE(load(cache, *device, 1, 2, kRow));
  CHECK(old.version().sequence == 1);
  CHECK(is_whole(*device, old, 1));
  CHECK(cache.lookup(id_of(1)).version().sequence == 2);
  CHECK(cache.stats().retired_entries == 1);
  CHECK(cache.stats().retired_bytes == kRow);
  old.release();
  CHECK(cache.stats().retired_entries == 0);
  CHECK(cache.stats().rows.entries == 1);
  CHECK(cache.stats().rows.live_bytes == kRow);
}

TEST_CASE("a voice that is published in the same version again stays where it is", "[cache][version]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  const Lease first = *load(cache, *device, 1, 1, kRow);
  const Lease second = *load(cache, *device, 1, 1, kRow);
  CHECK(first.address() == second.address());
  CHECK(cache.stats().rows.live_bytes == kRow);
  // Equal numbers are not equal versions: the checksum counts too.
  auto room = cache.reserve(id_of(1), kRow, {1, 999});
  const Lease third = *cache.publish(std::move(*room));
  CHECK(third.address() != first.address());
}

TEST_CASE("a removed voice is found no more, and its lease reads on", "[cache][lease]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  const Lease lease = *load(cache, *device, 1, 1, kRow);
  CHECK(cache.remove(id_of(1)));
  CHECK_FALSE(cache.remove(id_of(1)));
  CHECK_FALSE(cache.lookup(id_of(1)));
  CHECK(is_whole(*device, lease, 1));
  fill(cache, *device, 50);
  cache.clear();
  CHECK(is_whole(*device, lease, 1));
  CHECK(cache.stats().rows.entries == 0);
  CHECK(cache.stats().rows.live_bytes == kRow);
}

TEST_CASE("a reservation that is dropped leaves nothing", "[cache]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  { const auto room = cache.reserve(id_of(1), kRow, {}); }
  CHECK_FALSE(cache.lookup(id_of(1)));
  CHECK(cache.stats().rows.live_bytes == 0);
}

TEST_CASE("a walk shows the coldest first, as an ordered dictionary does", "[cache][walk]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  fill(cache, *device, 5);
  CHECK_FALSE(cache.lookup("unknown"));  // the tick goes on
  CHECK(cache.lookup(id_of(1)));
  std::vector<std::string> order;
  for (const EntryInfo& entry : cache.coldest(Pool::kRows, 100)) order.push_back(entry.id);
  CHECK(order == std::vector<std::string>{id_of(0), id_of(2), id_of(3), id_of(4), id_of(1)});
  CHECK(cache.coldest(Pool::kRows, 2).size() == 2);
}

TEST_CASE("a cache without a byte still serves, outside the budget", "[cache][budget]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(0, PolicyKind::kLru));
  Lease lease = *load(cache, *device, 1, 1, kRow);
  CHECK(is_whole(*device, lease, 1));
  CHECK_FALSE(cache.lookup(id_of(1)));
  CHECK(cache.stats().transient_bytes > 0);
  CHECK(cache.stats().held_bytes == 0);
  lease.release();
  CHECK(cache.stats().transient_bytes == 0);
  CHECK(cache.stats().transient_inserts == 1);
  CHECK(device->usage().live_pages == 0);
}

TEST_CASE("when every row is leased a voice comes in outside the budget and nobody loses a byte", "[cache][budget]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(2 * 65'536, PolicyKind::kLru));
  std::vector<Lease> leases;
  for (std::uint64_t number = 0; number < 150; ++number) leases.push_back(*load(cache, *device, number, 1, kRow));
  for (std::uint64_t number = 0; number < 150; ++number) CHECK(is_whole(*device, leases[number], number));
  const CacheStats stats = cache.stats();
  CHECK(stats.held_bytes <= 2 * 65'536);
  CHECK(stats.transient_inserts == 150 - 102);
  CHECK(stats.leases == 150);
  leases.clear();
  CHECK(cache.stats().transient_bytes == 0);
}

TEST_CASE("after a shrink to a half the coldest half is gone, the hottest is there and the bytes are back",
          "[cache][budget][compaction]") {
  const auto device = host(256 * kMiB);
  VoiceCache cache(*device, with_budget(32 * kMiB, PolicyKind::kLru));
  constexpr std::uint64_t kCount = 20'000;
  fill(cache, *device, kCount);
  // The hot half lies scattered over all pages.
  for (std::uint64_t number = 1; number < kCount; number += 2) {
    CHECK_FALSE(cache.lookup("unknown"));
    CHECK(cache.lookup(id_of(number)));
  }
  const std::uint64_t before = cache.stats().held_bytes;
  const std::uint64_t pages_before = device->usage().live_pages;
  cache.set_budget(before / 2);
  const CacheStats stats = cache.stats();
  CHECK(stats.held_bytes <= before / 2);
  CHECK(device->usage().live_pages * 100 <= pages_before * 55);
  CHECK(stats.moved_rows > 0);
  std::uint64_t hot = 0;
  std::uint64_t cold = 0;
  for (std::uint64_t number = 0; number < kCount; ++number) {
    const Lease lease = cache.lookup(id_of(number));
    if (!lease) continue;
    CHECK(is_whole(*device, lease, number));
    ++(number % 2 == 1 ? hot : cold);
  }
  CHECK(cold == 0);
  CHECK(hot >= kCount / 2 * 99 / 100);
}

TEST_CASE("a trim leaves leased bytes alone and says what it got", "[cache][budget]") {
  const auto device = host(256 * kMiB);
  VoiceCache cache(*device, with_budget(8 * kMiB, PolicyKind::kLru));
  fill(cache, *device, 4000);
  std::vector<Lease> leases;
  for (std::uint64_t number = 0; number < 4000; number += 400) leases.push_back(cache.lookup(id_of(number)));
  const std::uint64_t before = cache.stats().held_bytes;
  const std::uint64_t got = cache.trim(1000 * kMiB);
  const CacheStats stats = cache.stats();
  CHECK(got == before - stats.held_bytes);
  CHECK(stats.held_bytes <= 10 * 65'536);
  CHECK(stats.held_bytes >= stats.leased_bytes);
  for (std::size_t i = 0; i < leases.size(); ++i) CHECK(is_whole(*device, leases[i], i * 400));
}

TEST_CASE("voices of many sizes share the budget without a size class starving", "[cache][rows]") {
  const auto device = host(256 * kMiB);
  VoiceCache cache(*device, with_budget(4 * kMiB, PolicyKind::kLru));
  for (std::uint64_t round = 0; round < 6; ++round) {
    const std::uint64_t bytes = 256 + round * 2048;
    for (std::uint64_t number = 0; number < 3000; ++number) {
      const auto lease = load(cache, *device, round * 10'000 + number, 1, bytes);
      REQUIRE(lease);
      REQUIRE(is_whole(*device, *lease, round * 10'000 + number));
    }
  }
  CHECK(cache.stats().transient_inserts == 0);
  CHECK(cache.stats().held_bytes <= 4 * kMiB);
}

TEST_CASE("a batch gives a lease or none for each id, repeated and unknown ones too", "[cache][batch]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(kMiB, PolicyKind::kLru));
  fill(cache, *device, 3);
  const std::string first = id_of(0);
  const std::string third = id_of(2);
  const std::array<std::string_view, 5> ids = {first, "unknown", third, first, ""};
  std::array<Lease, 5> leases;
  CHECK(cache.lookup_batch(ids, leases) == 3);
  CHECK(is_whole(*device, leases[0], 0));
  CHECK_FALSE(leases[1]);
  CHECK(is_whole(*device, leases[2], 2));
  CHECK(leases[3].address() == leases[0].address());
  CHECK_FALSE(leases[4]);
  CHECK(cache.stats().leases == 3);
}

TEST_CASE("a lease given back on a stream lasts until the stream has passed", "[cache][stream]") {
  const auto device = delayed(64 * kMiB, 1);
  VoiceCache cache(*device, with_budget(65'536, PolicyKind::kLru));
  constexpr auto kConsumer = timbre::device::Stream{7};
  Lease lease = *load(cache, *device, 1, 1, 32'768);
  device->hold(kConsumer);
  std::vector<std::uint64_t> read(lease.bytes() / 8);
  REQUIRE(device->download(read.data(), lease.address(), lease.bytes(), kConsumer));
  REQUIRE(cache.release_on(lease, kConsumer));
  CHECK_FALSE(lease);
  fill(cache, *device, 100);  // all room is wanted
  CHECK(cache.lookup(id_of(1)));
  device->release(kConsumer);
  REQUIRE(device->drain());
  CHECK(is_payload(read.data(), 1, 1, 32'768));
  cache.poll();
  CHECK(cache.stats().leases == 0);
  CHECK(device->violation_count() == 0);
}

TEST_CASE("a voice that no memory could hold is refused by name, and nothing is evicted for it", "[cache][budget]") {
  const auto memory = host(2 * kMiB);
  const std::uint64_t budget = GENERATE(as<std::uint64_t>(), 1U << 20U, 1U << 30U, UINT64_MAX);
  VoiceCache cache(*memory, with_budget(budget));
  for (std::uint64_t number = 0; number < 200; ++number) REQUIRE(load(cache, *memory, number, 1, kRow));
  for (const std::uint64_t bytes : {4 * kMiB, std::uint64_t{1} << 46U, (std::uint64_t{1} << 46U) + 1,
                                    std::uint64_t{1} << 63U, UINT64_MAX - 65534, UINT64_MAX}) {
    const auto refused = cache.reserve("huge", bytes, {1, 0});
    INFO("budget " << budget << ", bytes " << bytes);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("'huge'") != std::string::npos);
    CHECK(refused.error().message.find(std::to_string(bytes)) != std::string::npos);
    CHECK(cache.stats().rows.entries == 200);
  }
}

TEST_CASE("what could not go because it was leased goes at the next asking", "[cache][budget]") {
  for (const PolicyKind kind :
       {PolicyKind::kAuto, PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kS3Fifo, PolicyKind::kGdsf}) {
    const auto memory = host(4 * kMiB);
    VoiceCache cache(*memory, with_budget(4 * kMiB, kind));
    for (std::uint64_t number = 0; number < 20; ++number) REQUIRE(load(cache, *memory, number, 1, 2 * kPage));
    Lease held = cache.lookup(id_of(7));
    CHECK(cache.set_budget(0) == 2 * kPage);
    held.release();
    CHECK(cache.set_budget(0) == 0);
  }
}

TEST_CASE("a budget without an end costs no more than the memory behind it", "[cache][budget]") {
  const auto memory = host(2 * kMiB);
  for (const PolicyKind kind : {PolicyKind::kAuto, PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kS3Fifo}) {
    VoiceCache cache(*memory, with_budget(UINT64_MAX, kind));
    for (std::uint64_t number = 0; number < 5000; ++number) REQUIRE(load(cache, *memory, number, 1, kRow));
    const CacheStats stats = cache.stats();
    CHECK(stats.held_bytes <= 2 * kMiB);
    CHECK(stats.rows.entries > 1000);
    CHECK(stats.overhead_bytes < kMiB);
  }
}

TEST_CASE("a note stays with its entry until the memory goes back, and is told then, once", "[cache][note]") {
  const auto memory = host(4 * kMiB);
  std::vector<std::uint32_t> gone;
  CacheOptions options = with_budget(4 * kPage, PolicyKind::kLru);
  options.note_gone = [&gone](std::uint32_t note) { gone.push_back(note); };
  VoiceCache cache(*memory, options);
  const auto put = [&cache](std::uint64_t number, std::uint64_t version, std::uint64_t bytes, std::uint32_t note) {
    auto room = cache.reserve(id_of(number), bytes, {version, number}, Admission::kDemand, note);
    REQUIRE(room);
    auto shown = cache.publish(std::move(*room));
    REQUIRE(shown);
    CHECK(shown->note() == note);
    return std::move(*shown);
  };

  put(1, 1, kRow, 0);
  put(2, 1, kRow, 7);
  Lease blob = put(3, 1, 2 * kPage, UINT32_MAX);
  CHECK(cache.lookup(id_of(1)).note() == 0);
  CHECK(cache.lookup(id_of(2)).note() == 7);

  put(2, 1, kRow, 7);  // the same version: what was reserved goes, and the entry stays
  CHECK(gone == std::vector<std::uint32_t>{7});
  put(2, 2, kRow, 8);
  CHECK(gone == std::vector<std::uint32_t>{7, 7});
  REQUIRE(cache.remove(id_of(3)));
  CHECK(gone.size() == 2);
  CHECK(blob.note() == UINT32_MAX);
  blob.release();
  CHECK(gone == std::vector<std::uint32_t>{7, 7, UINT32_MAX});
  { const auto dropped = cache.reserve(id_of(4), kRow, {}, Admission::kDemand, 9); }
  CHECK(gone.back() == 9);
  cache.set_budget(0);  // evicts all; the numbers of entries are used again, without the old notes
  CHECK(gone == std::vector<std::uint32_t>{7, 7, UINT32_MAX, 9, 8});
  put(5, 1, kRow, 0);
  CHECK(gone.size() == 5);
}

TEST_CASE("quiet entries do not displace used ones", "[cache][admission]") {
  const auto device = host(64 * kMiB);
  VoiceCache cache(*device, with_budget(2 * kMiB, PolicyKind::kS3Fifo));
  fill(cache, *device, 400);
  for (int use = 0; use < 3; ++use) {
    for (std::uint64_t number = 0; number < 400; ++number) CHECK(cache.lookup(id_of(number)));
  }
  for (std::uint64_t number = 1000; number < 4000; ++number) {
    REQUIRE(load(cache, *device, number, 1, kRow, Admission::kQuiet));
  }
  std::uint64_t there = 0;
  for (std::uint64_t number = 0; number < 400; ++number) there += cache.lookup(id_of(number)) ? 1 : 0;
  CHECK(there == 400);
}

TEST_CASE("hits are counted exactly, though no counter is shared", "[cache][stats]") {
  const auto device = host(64 * kMiB);
  CacheOptions options = with_budget(2 * kMiB, PolicyKind::kLfu);
  options.first_use_count = EntryUse::kHalf - 1000;
  VoiceCache cache(*device, options);
  fill(cache, *device, 100);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) static_cast<void>(cache.lookup(id_of(static_cast<std::uint64_t>(i) % 100)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cache.stats().hits == 80'000);
  fill(cache, *device, 5000);  // evictions ask for uses
  CHECK(cache.stats().hits == 80'000);
}
