// SPDX-License-Identifier: MIT
//
// Rows and blobs beside each other in a nearly full budget: whoever may be evicted makes room, the books agree with the
// device at every check point, and the budget moves to the pool that saves more loading time.
//
// Blobs are 0.5 to 10 MiB, of which only the first word is ever touched.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "cache_fixture.hpp"
#include "short_form.hpp"
#include "workloads.hpp"

using namespace timbre::cache;        // NOLINT: a test
using namespace timbre::cache::test;  // NOLINT: a test
namespace device = timbre::device;

namespace {

constexpr std::uint64_t kFirstBlob = std::uint64_t{1} << 32U;  // numbers from here on are blobs

std::uint64_t bytes_of(std::uint64_t number) {
  if (number < kFirstBlob) return kRow;
  return kMiB / 2 + number * 0x9E3779B97F4A7C15U % (19 * kMiB / 2);
}

/// What loading takes, in microseconds, as the budget's division counts it.
double load_microseconds(std::uint64_t number) { return 100 + 1e-3 * static_cast<double>(bytes_of(number)); }

std::uint64_t evicted(const CacheStats& stats) {
  const auto sum = [](const PoolStats& pool) {
    return std::accumulate(pool.evictions.begin(), pool.evictions.end(), std::uint64_t{0});
  };
  return sum(stats.rows) + sum(stats.blobs);
}

/// A load that writes one word, which says whose bytes these are.
timbre::Result<Lease> load_head(VoiceCache& cache, std::uint64_t number, std::uint64_t version) {
  timbre::Result<Reservation> room = cache.reserve(id_of(number), bytes_of(number), {version, number});
  if (!room) return room.error();
  *reinterpret_cast<std::uint64_t*>(room->address()) = word_of(number, version, 0);
  return cache.publish(std::move(*room));
}

bool has_head(const Lease& lease, std::uint64_t number) {
  return lease.id() == id_of(number) && lease.bytes() == bytes_of(number) &&
         *reinterpret_cast<const std::uint64_t*>(lease.address()) == word_of(number, lease.version().sequence, 0);
}

/// Draws numbers: rows and blobs by Zipf's law, so many of 100 requests for blobs.
class Requests {
 public:
  Requests(std::uint32_t stream, std::uint32_t rows, std::uint32_t blobs) : words(stream), rows_(rows), blobs_(blobs) {}

  std::uint64_t next(std::uint32_t percent_blobs) {
    if (words.below(100) < percent_blobs) return kFirstBlob + blobs_.draw(words);
    return rows_.draw(words);
  }

  WordStream words;

 private:
  Zipf rows_;
  Zipf blobs_;
};

/// Everything that a host does with a cache, at random, and what must hold after each of it.
class RandomWork {
 public:
  RandomWork(device::HostDevice& target, VoiceCache& cache, std::size_t kept_leases)
      : device_(target), cache_(cache), kept_leases_(kept_leases) {}

  /// @param percent_blobs  of the requests
  void step(std::uint32_t percent_blobs) {
    const std::uint64_t number = requests_.next(percent_blobs);
    const std::uint32_t what = requests_.words.below(1000);
    if (what < 10) {
      cache_.remove(id_of(number));
    } else if (what < 20) {
      keep(load_head(cache_, number, ++version_), number);
    } else {
      Lease lease = cache_.lookup(id_of(number));
      if (lease) {
        keep(std::move(lease), number);
      } else {
        keep(load_head(cache_, number, version_), number);
      }
    }
  }

  void check_books() {
    const CacheStats stats = cache_.stats();
    const std::uint64_t page = device_.properties().page_bytes;
    CHECK(device_.usage().live_pages * page == stats.held_bytes + stats.transient_bytes);
    CHECK(stats.held_bytes == stats.rows.held_bytes + stats.blobs.held_bytes);
    CHECK(stats.held_bytes <= stats.budget_bytes);
    CHECK(stats.rows.live_bytes <= stats.rows.held_bytes);
    CHECK(stats.rows.live_bytes >= stats.rows.entries * kRow);
    if (stats.retired_entries == 0) CHECK(stats.rows.live_bytes == stats.rows.entries * kRow);
    CHECK(stats.blobs.live_bytes <= stats.blobs.held_bytes);
    CHECK(stats.retired_bytes <= stats.leased_bytes);
    CHECK(stats.transient_inserts == 0);
    CHECK(wrong == 0);
    CHECK(failed == 0);
  }

  /// An entry of the size that is reported comes in, and nobody goes for it.
  void check_largest() {
    const CacheStats before = cache_.stats();
    if (before.largest_free_bytes == 0) return;
    const auto room = cache_.reserve("as large as they say", before.largest_free_bytes, {});
    REQUIRE(room);
    CHECK_FALSE(room->transient());
    CHECK(evicted(cache_.stats()) == evicted(before));
    ++largest_checked;
  }

  std::uint64_t wrong = 0;
  std::uint64_t failed = 0;
  std::uint64_t largest_checked = 0;

 private:
  void keep(timbre::Result<Lease> lease, std::uint64_t number) {
    if (!lease) {
      ++failed;
      return;
    }
    if (!has_head(*lease, number)) ++wrong;
    if (kept_leases_ == 0 || !requests_.words.one_in(8)) return;
    if (number >= kFirstBlob && !requests_.words.one_in(4)) return;
    kept_.emplace_back(number, std::move(*lease));
    if (kept_.size() <= kept_leases_) return;
    if (!has_head(kept_.front().second, kept_.front().first)) ++wrong;
    const device::Stream stream{1 + requests_.words.below(4)};
    if (requests_.words.one_in(2) && !cache_.release_on(kept_.front().second, stream)) ++failed;
    kept_.pop_front();
  }

  device::HostDevice& device_;
  VoiceCache& cache_;
  Requests requests_{101, 150'000, 120};
  std::uint64_t version_ = 1;
  std::size_t kept_leases_;
  std::deque<std::pair<std::uint64_t, Lease>> kept_;
};

/// Random work in 64 parts, by turns with few and with many blobs; a check point after each.
void work_at_95_percent(bool maps_pages, std::size_t kept_leases, std::size_t operations) {
  const auto target = host(256 * kMiB, maps_pages);
  {
    VoiceCache cache(*target, with_budget(256 * kMiB * 95 / 100, PolicyKind::kAuto));
    std::uint64_t full = 0;
    {
      RandomWork work(*target, cache, kept_leases);
      for (std::size_t part = 0; part < 64; ++part) {
        for (std::size_t i = 0; i < operations / 64; ++i) work.step(part / 8 % 2 == 0 ? 5 : 60);
        work.check_books();
        work.check_largest();
        if (cache.stats().held_bytes * 10 >= cache.stats().budget_bytes * 9) ++full;
      }
      CHECK(work.largest_checked > 48);
    }
    CHECK(full >= (maps_pages ? 60 : 1));  // contiguous memory is held in larger pieces than are asked for
    const CacheStats stats = cache.stats();
    if (maps_pages) CHECK(stats.moved_rows > 0);
    CHECK(stats.leases == 0);
    CHECK(stats.rows.live_bytes == stats.rows.entries * kRow);
    CHECK(stats.rows.inserts + stats.blobs.inserts == stats.rows.entries + stats.blobs.entries + evicted(stats));
  }
  CHECK(target->usage().live_pages == 0);
}

/// What one run of requests has saved, of the time that it would take to load each of them, in its second half.
struct Saved {
  double saved = 0;
  double all = 0;

  [[nodiscard]] double fraction() const { return saved / all; }
};

/// @param rows, blobs  caches for either; may be the same one
Saved run(VoiceCache& rows, VoiceCache& blobs, std::uint32_t percent_blobs, std::size_t count) {
  Requests requests(200 + percent_blobs, 100'000, 200);
  Saved sum;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = requests.next(percent_blobs);
    VoiceCache& cache = number < kFirstBlob ? rows : blobs;
    const bool hit = static_cast<bool>(cache.lookup(id_of(number)));
    if (!hit) REQUIRE(load_head(cache, number, 1));
    if (i < count / 2) continue;
    sum.all += load_microseconds(number);
    sum.saved += hit ? load_microseconds(number) : 0;
  }
  return sum;
}

constexpr std::uint64_t kShared = 64 * kMiB;

/// The same requests with `rows_bytes` of the budget for rows, for good.
double saved_when_fixed(std::uint64_t rows_bytes, std::uint32_t percent_blobs, std::size_t count) {
  const auto target = host(kShared);
  VoiceCache rows(*target, with_budget(rows_bytes, PolicyKind::kS3Fifo));
  VoiceCache blobs(*target, with_budget(kShared - rows_bytes, PolicyKind::kS3Fifo));
  return run(rows, blobs, percent_blobs, count).fraction();
}

}  // namespace

TEST_CASE("rows and blobs in a nearly full budget never fail for want of an eviction", "[cache][pools]") {
  work_at_95_percent(true, 12, long_test("operations on a device that maps pages", 1'000'000, 40'000));
}

TEST_CASE("nor do they where memory is contiguous and falls to pieces", "[cache][pools]") {
  work_at_95_percent(false, 0, long_test("operations on contiguous memory", 1'000'000, 40'000));
}

TEST_CASE("the budget moves to the pool that saves more loading, whatever the mix of requests", "[cache][pools]") {
  const std::uint32_t percent_blobs = GENERATE(5U, 60U);
  const std::size_t count = short_form("requests for each division", 50'000, 25'000);
  double best = 0;
  double worst = 1;
  for (const std::uint64_t part : {2U, 8U, 16U, 32U, 48U}) {
    const double saved = saved_when_fixed(kShared / 64 * part, percent_blobs, count);
    best = std::max(best, saved);
    worst = std::min(worst, saved);
  }
  const auto target = host(kShared);
  VoiceCache cache(*target, with_budget(kShared, PolicyKind::kS3Fifo));
  const double saved = run(cache, cache, percent_blobs, count).fraction();
  INFO(percent_blobs << " % blobs: best " << best << ", worst " << worst << ", ours " << saved << ", rows have "
                     << static_cast<double>(cache.stats().rows.share_bytes) / kShared);
  CHECK(saved > best * 0.97);
  CHECK(saved - worst > (best - worst) * 0.7);
}

TEST_CASE("the only pool in use has the whole budget, and half of it when the other one comes", "[cache][pools]") {
  const auto target = host(kShared);
  VoiceCache cache(*target, with_budget(kShared, PolicyKind::kS3Fifo));
  REQUIRE(load_head(cache, 1, 1));
  CHECK(cache.stats().rows.share_bytes == kShared);
  REQUIRE(load_head(cache, kFirstBlob, 1));
  CHECK(cache.stats().rows.share_bytes == kShared / 2);
  CHECK(cache.stats().blobs.share_bytes == kShared / 2);
}

TEST_CASE("who owns a row is looked up to move it, and forgotten when none has moved for long", "[cache][pools]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(16 * kMiB, PolicyKind::kLru));
  constexpr std::uint64_t kRows = 4096;
  for (std::uint64_t number = 0; number < kRows; ++number) REQUIRE(load_head(cache, number, 1));
  const std::uint64_t unknown = cache.stats().overhead_bytes;
  for (std::uint64_t number = 0; number < kRows; number += 2) REQUIRE(cache.remove(id_of(number)));
  cache.trim(kPage);
  for (std::uint64_t number = 0; number < kRows; number += 2) REQUIRE(load_head(cache, number, 1));
  const CacheStats known = cache.stats();
  REQUIRE(known.rows.entries == kRows);
  CHECK(known.moved_rows > 0);
  CHECK(known.overhead_bytes >= unknown + kRows * sizeof(EntryNumber));
  for (std::uint64_t round = 0; round < 2 * kRows; ++round) {
    REQUIRE(cache.remove(id_of(round % kRows)));
    REQUIRE(load_head(cache, round % kRows, 1));
  }
  CHECK(cache.stats().moved_rows == known.moved_rows);
  CHECK(cache.stats().overhead_bytes == unknown);
}

TEST_CASE("the budget moves back when the mix of requests does", "[cache][pools]") {
  const auto target = host(kShared);
  VoiceCache cache(*target, with_budget(kShared, PolicyKind::kS3Fifo));
  run(cache, cache, 60, 100'000);
  const std::uint64_t few = cache.stats().rows.share_bytes;
  CHECK(few < kShared / 8);
  run(cache, cache, 1, 200'000);
  const std::uint64_t many = cache.stats().rows.share_bytes;
  CHECK(many > few * 2);
  CHECK(cache.stats().rows.held_bytes > few * 2);  // what it may hold it does hold
}
