// SPDX-License-Identifier: MIT
//
// A device that fails now and then, or all the time: each answer is a value or an error, voices that are there are
// whole, and in the end nothing is missing.
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
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

/// All work is done, even where the device records no event.
void finish(device::HostDevice&) {}
void finish(device::DelayedDevice& target) { REQUIRE(target.drain()); }

/// A lease's bytes, without asking the device: all work on them was seen to end.
bool holds(const Lease& lease, std::uint64_t number) {
  return lease.id() == id_of(number) && is_payload(reinterpret_cast<const std::uint64_t*>(lease.address()), number,
                                                   lease.version().sequence, lease.bytes());
}

/// Random work of one host on a failing device.
template <class Target>
class FailingWork {
 public:
  FailingWork(Target& target, VoiceCache& cache, std::uint32_t stream)
      : target_(target), cache_(cache), dice_(stream) {}

  void step() {
    const std::uint64_t number = dice_.below(600);
    const std::uint32_t what = dice_.below(1000);
    if (what < 5) {
      cache_.trim(kMiB / 4);
    } else if (what < 10) {
      cache_.set_budget(kMiB / (1 + dice_.below(3)));
    } else if (what < 30) {
      cache_.remove(id_of(number));
    } else if (what < 60) {
      put(number);
    } else if (what < 100 && !kept_.empty()) {
      give_back();
    } else {
      Lease lease = cache_.lookup(id_of(number));
      if (!lease) return put(number);
      if (!holds(lease, number)) ++wrong;
      if (kept_.size() < 30 && dice_.one_in(4)) kept_.emplace_back(number, std::move(lease));
    }
  }

  void give_back_all() { kept_.clear(); }

  std::uint64_t wrong = 0;
  std::uint64_t loaded = 0;
  std::uint64_t failed = 0;

 private:
  device::Stream any_stream() { return device::Stream{dice_.below(4)}; }

  void put(std::uint64_t number) {
    const auto lease = load_or_fail(number);
    if (lease) {
      ++loaded;
      if (!holds(*lease, number)) ++wrong;
    } else {
      ++failed;
      const Status status = lease.error().status;
      if (status != Status::kOutOfMemory && status != Status::kIo) ++wrong;
      if (lease.error().message.empty()) ++wrong;
    }
  }

  Result<Lease> load_or_fail(std::uint64_t number) {
    const std::uint64_t bytes = number % 50 == 0 ? kPage + number * 8 : 256 + number % 5 * 512;
    Result<Reservation> room = cache_.reserve(id_of(number), bytes, {++version_, number});
    if (!room) return room.error();
    const std::vector<std::uint64_t> words = payload(number, version_, bytes);
    const device::Stream stream = any_stream();
    const Result<void> sent = target_.upload(room->address(), words.data(), bytes, stream);
    const Result<device::Event> end = target_.record(stream);
    if (end) {
      REQUIRE(target_.wait(*end));
    } else {
      finish(target_);  // who drops a reservation has seen all work on it end
    }
    if (!sent) return sent.error();
    return cache_.publish(std::move(*room));
  }

  void give_back() {
    auto [number, lease] = std::move(kept_.front());
    kept_.pop_front();
    if (!holds(lease, number)) ++wrong;
    if (dice_.one_in(2)) return;
    if (!cache_.release_on(lease, any_stream()) && !lease) ++wrong;  // a refused lease is still there
  }

  Target& target_;
  VoiceCache& cache_;
  WordStream dice_;
  std::uint64_t version_ = 0;
  std::deque<std::pair<std::uint64_t, Lease>> kept_;
};

enum class Failing { kAllocations, kCopies, kEvents, kAll };

void plan(device::DeviceScript& script, Failing what, std::uint64_t kth) {
  if (what == Failing::kAllocations || what == Failing::kAll) script.allocations.fail_every(kth);
  if (what == Failing::kCopies || what == Failing::kAll)
    script.copies.fail_every(kth + (what == Failing::kAll ? 1 : 0));
  if (what == Failing::kEvents || what == Failing::kAll)
    script.events.fail_every(kth + (what == Failing::kAll ? 2 : 0));
}

void heal(device::DeviceScript& script) {
  script.allocations.clear();
  script.copies.clear();
  script.events.clear();
}

/// Every page that the cache holds is counted, and with the leases goes all that they held.
template <class Target>
void check_books(Target& target, VoiceCache& cache) {
  finish(target);
  cache.poll();
  CacheStats stats = cache.stats();
  check_no_leases(stats);
  CHECK(stats.held_bytes == target.usage().live_pages * kPage);
  cache.clear();
  cache.trim(UINT64_MAX);
  finish(target);
  cache.trim(UINT64_MAX);
  stats = cache.stats();
  CHECK(stats.held_bytes == 0);
  CHECK(stats.rows.live_bytes + stats.blobs.live_bytes == 0);
  CHECK(target.usage().live_pages == 0);
}

template <class Target>
void work_while_failing(Target& target, Failing what, std::uint64_t kth, std::uint64_t operations) {
  INFO("every " << kth << "th of " << static_cast<int>(what));
  VoiceCache cache(target, with_budget(kMiB));
  FailingWork<Target> work(target, cache, static_cast<std::uint32_t>(500 + kth * 4) + static_cast<std::uint32_t>(what));
  for (std::uint64_t i = 0; i < operations; ++i) {
    if (i == operations / 4) plan(target.script(), what, kth);
    work.step();
  }
  CHECK(work.wrong == 0);
  CHECK(work.loaded > operations / 10);
  if (what == Failing::kCopies || what == Failing::kAll) CHECK(work.failed > 0);
  heal(target.script());
  // The device is well again, and so is the cache.
  const std::uint64_t failed = work.failed;
  for (std::uint64_t i = 0; i < operations / 4; ++i) work.step();
  CHECK(work.wrong == 0);
  CHECK(work.failed == failed);
  work.give_back_all();
  check_books(target, cache);
}

/// 20 pages of rows, of which every second row goes: compaction has much to do.
std::vector<std::uint64_t> fill_and_thin(VoiceCache& cache, device::Device& target) {
  std::vector<std::uint64_t> left;
  for (std::uint64_t number = 0; number < 20 * 51; ++number) REQUIRE(load(cache, target, number, 1, kRow));
  for (std::uint64_t number = 0; number < 20 * 51; ++number) {
    if (number % 2 == 0) {
      cache.remove(id_of(number));
    } else {
      left.push_back(number);
    }
  }
  return left;
}

/// Where voices are; a lookup that misses is an address of 0.
std::vector<device::Address> places(VoiceCache& cache, const std::vector<std::uint64_t>& numbers) {
  std::vector<device::Address> found;
  for (const std::uint64_t number : numbers) {
    const Lease lease = cache.lookup(id_of(number));
    found.push_back(lease && holds(lease, number) ? lease.address() : 0);
  }
  return found;
}

/// A compaction that the script spoils leaves every voice where it was; the next one goes through.
template <class Target>
void spoil_a_compaction(Target& target, const std::function<void(device::DeviceScript&)>& spoil) {
  {
    VoiceCache cache(target, with_budget(4 * kMiB, PolicyKind::kLru));
    const std::vector<std::uint64_t> left = fill_and_thin(cache, target);
    const std::vector<device::Address> before = places(cache, left);
    const std::uint64_t held = cache.stats().held_bytes;
    spoil(target.script());
    // As much room as the budget leaves is taken; the next page needs a compaction.
    const auto room = cache.reserve("blob", 4 * kMiB - held + kPage, {});
    heal(target.script());
    REQUIRE(room);
    CHECK_FALSE(room->transient());
    const std::vector<device::Address> after = places(cache, left);
    std::uint64_t stayed = 0;
    std::uint64_t gone = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (after[i] == before[i]) ++stayed;
      if (after[i] == 0) ++gone;
    }
    CHECK(stayed >= left.size() - 60);  // one page's rows moved at most
    CHECK(gone <= 60);                  // and no more went than waiting for the copy cost
    finish(target);
    cache.trim(1);
  }
  CHECK(target.usage().live_pages == 0);
}

}  // namespace

TEST_CASE("a host device whose every n-th allocation, copy or event fails loses and leaks nothing",
          "[cache][device-failures]") {
  const Failing what = GENERATE(Failing::kAllocations, Failing::kCopies, Failing::kEvents, Failing::kAll);
  const std::uint64_t operations = short_form("operations on a failing device", 12'000, 3000);
  for (const std::uint64_t kth : {2U, 3U, 7U, 50U}) {
    const auto target = host(16 * kMiB);
    work_while_failing(*target, what, kth, operations);
  }
}

TEST_CASE("a late device whose every n-th allocation, copy or event fails loses and leaks nothing",
          "[cache][device-failures][stream]") {
  const Failing what = GENERATE(Failing::kAllocations, Failing::kCopies, Failing::kEvents, Failing::kAll);
  for (const std::uint64_t kth : {2U, 5U}) {
    const auto target = delayed(16 * kMiB, 50 + kth);
    work_while_failing(*target, what, kth, long_test("operations on a late, failing device", 4000, 1200));
    for (const device::Violation& violation : target->violations()) UNSCOPED_INFO(violation.text);
    CHECK(target->violation_count() == 0);
  }
}

TEST_CASE("a device that fails at everything is told of, and gives all back when it is well",
          "[cache][device-failures]") {
  const auto target = delayed(16 * kMiB, 60);
  {
    VoiceCache cache(*target, with_budget(kMiB));
    for (std::uint64_t number = 0; number < 100; ++number) REQUIRE(load(cache, *target, number, 1, kRow));
    Lease lease = cache.lookup(id_of(7));
    REQUIRE(lease);
    plan(target->script(), Failing::kAllocations, 1);
    plan(target->script(), Failing::kCopies, 1);
    plan(target->script(), Failing::kEvents, 1);
    CHECK(cache.reserve("large", 20 * kMiB, {}).error().status == Status::kOutOfMemory);
    CHECK(cache.release_on(lease, device::Stream{3}).error().status == Status::kIo);
    REQUIRE(lease);
    CHECK(holds(lease, 7));
    cache.set_budget(2 * kPage);
    CHECK(holds(lease, 7));
    heal(target->script());
    REQUIRE(cache.release_on(lease, device::Stream{3}));
    finish(*target);
    check_books(*target, cache);
  }
  CHECK(target->violation_count() == 0);
}

TEST_CASE("a compaction whose copy fails half way leaves the voices where they are", "[cache][device-failures]") {
  const std::uint64_t nth = GENERATE(1U, 2U, 13U, 25U);
  const auto target = host(16 * kMiB);
  spoil_a_compaction(*target, [&](device::DeviceScript& script) { script.copies.fail_at(nth); });
  const auto late = delayed(16 * kMiB, 70 + nth);
  spoil_a_compaction(*late, [&](device::DeviceScript& script) { script.copies.fail_at(nth); });
  CHECK(late->violation_count() == 0);
}

TEST_CASE("rows of a copy whose end the device cannot tell are nobody's until it can",
          "[cache][device-failures][stream]") {
  const auto target = delayed(16 * kMiB, 80);
  {
    VoiceCache cache(*target, with_budget(4 * kMiB, PolicyKind::kLru));
    const std::vector<std::uint64_t> left = fill_and_thin(cache, *target);
    const std::uint64_t held = cache.stats().held_bytes;
    target->hold(device::Stream::kDefault);
    target->script().events.fail_at(1);
    // The copies of the compaction wait, and it does not know for how long.
    CHECK(cache.trim(0) == 0);
    static_cast<void>(cache.reserve("blob", 4 * kMiB - held + kPage, {}));
    heal(target->script());
    // New voices take free rows meanwhile, on a stream of their own.
    for (std::uint64_t number = 5000; number < 5200; ++number) {
      REQUIRE(load(cache, *target, number, 1, kRow, Admission::kDemand, device::Stream{5}));
    }
    target->release(device::Stream::kDefault);
    finish(*target);
    for (std::uint64_t number = 5000; number < 5200; ++number) {
      const Lease lease = cache.lookup(id_of(number));
      REQUIRE(lease);
      CHECK(holds(lease, number));
    }
    check_books(*target, cache);
  }
  for (const device::Violation& violation : target->violations()) UNSCOPED_INFO(violation.text);
  CHECK(target->violation_count() == 0);
}

TEST_CASE("a blob beside which leases leave too little room costs the rows nothing", "[cache][budget]") {
  const auto target = host(64 * kMiB);
  VoiceCache cache(*target, with_budget(8 * kMiB));
  const Lease used = *load(cache, *target, 1, 1, 5 * kMiB);
  for (std::uint64_t number = 100; number < 1100; ++number) REQUIRE(load(cache, *target, number, 1, kRow));
  for (std::uint64_t number = 2; number < 6; ++number) {
    const auto lease = load(cache, *target, number, 1, 4 * kMiB);
    REQUIRE(lease);
    CHECK(is_whole(*target, *lease, number));
  }
  CHECK(cache.stats().transient_inserts == 4);
  CHECK(cache.stats().rows.entries == 1000);
}

TEST_CASE("a new version outside the budget hides the old one all the same", "[cache][version]") {
  const auto target = host(16 * kMiB);
  VoiceCache cache(*target, with_budget(kPage));
  Lease old = *load(cache, *target, 1, 1, kPage);
  const Lease fresh = *load(cache, *target, 1, 2, kPage);
  CHECK(cache.stats().transient_inserts == 1);
  CHECK(is_whole(*target, old, 1));
  CHECK(fresh.version().sequence == 2);
  CHECK_FALSE(cache.lookup(id_of(1)));  // the old one would be the wrong one
  old.release();
  CHECK(cache.stats().blobs.entries == 0);
}
