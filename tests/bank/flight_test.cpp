// SPDX-License-Identifier: MIT
//
// Single flight: who waits, who works, and what overtakes whom.
#include <atomic>
#include <catch2/catch.hpp>

#include "bank_fixture.hpp"
#include "cache/short_form.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using namespace std::chrono_literals;
using timbre::Error;
using timbre::Status;

TEST_CASE("a thousand threads on one cold id are one load", "[bank][flight]") {  // public failure 12
  const std::size_t threads = timbre::cache::short_form("threads", 1000, 200);
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> whole{0};
  Crowd crowd(threads, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (voice && bench.stamp(*voice, 1) == 1) ++whole;
  });
  until([&] { return bank.stats().waiters == threads; });
  bench.store.release();
  crowd.join();
  CHECK(whole == threads);
  CHECK(bench.store.begin_count() == 1);
  CHECK(bench.store.read_count() == 1);
  CHECK(bank.stats().loads == 1);
  CHECK(bank.stats().open_flights == 0);
}

TEST_CASE("a leader of 5 ms and followers of 5 s are one read of the store", "[bank][flight]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> whole{0};
  Error led;
  {
    Crowd leader(1, [&](std::size_t) { led = bank.get(id_of(1), within(5ms)).error(); });
    bench.store.wait_for_reads(1);
    Crowd followers(4, [&](std::size_t) {
      const auto voice = bank.get(id_of(1), within(60s));
      if (voice && bench.stamp(*voice, 1) == 1) ++whole;
    });
    leader.join();
    until([&] { return bank.stats().waiters == 4; });
    bench.store.release();
  }
  CHECK(led.status == Status::kTimeout);
  CHECK(led.message.find(id_of(1)) != std::string::npos);
  CHECK(whole == 4);
  CHECK(bench.store.begin_count() == 1);
}

TEST_CASE("a cancelled leader ends its own wait, and a waiter goes on", "[bank][flight]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<bool> cancelled{false};
  std::atomic<std::size_t> whole{0};
  Error led;
  Crowd leader(1, [&](std::size_t) { led = bank.get(id_of(1), {.cancelled = &cancelled}).error(); });
  bench.store.wait_for_reads(1);
  Crowd follower(1, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (voice && bench.stamp(*voice, 1) == 1) ++whole;
  });
  until([&] { return bank.stats().waiters == 2; });
  cancelled = true;
  leader.join();
  bench.store.release();
  follower.join();
  CHECK(led.status == Status::kCancelled);
  CHECK(whole == 1);
  CHECK(bench.store.begin_count() == 1);
}

TEST_CASE("a load that nobody waits for any more is carried on by the next caller", "[bank][flight]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  CHECK(bank.get(id_of(1), within(1ms)).error().status == Status::kTimeout);
  CHECK(bank.explain(id_of(1)).is_loading);
  bench.store.release();
  const auto voice = bank.get(id_of(1), within(60s));
  REQUIRE(voice);
  CHECK(bench.stamp(*voice, 1) == 1);
  CHECK(bench.store.begin_count() == 1);
  CHECK(!bank.explain(id_of(1)).is_loading);
}

TEST_CASE("a load that nobody waits for any more is ended by poll", "[bank][flight]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  CHECK(bank.get(id_of(1), within(1ms)).error().status == Status::kTimeout);
  bank.poll(in(1ms));
  CHECK(bank.stats().open_flights == 1);
  bench.store.release();
  bank.poll(in(60s));
  CHECK(bank.stats().open_flights == 0);
  CHECK(bank.explain(id_of(1)).device.is_there);
  CHECK(bench.store.begin_count() == 1);
}

TEST_CASE("a failed load is one error for all, leaves no entry, and is tried again once", "[bank][flight]") {
  constexpr std::size_t kThreads = 50;  // public failure 12
  Bench bench;
  bench.keep(1);
  bench.store.fail_next_load(Error{Status::kIo, "the disk is gone"});
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> told{0};
  Crowd first(kThreads, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (!voice && voice.error().status == Status::kIo && voice.error().message == "the disk is gone") ++told;
  });
  until([&] { return bank.stats().waiters == kThreads; });
  bench.store.release();
  first.join();
  CHECK(told == kThreads);
  CHECK(bench.store.begin_count() == 1);
  CHECK(!bank.explain(id_of(1)).device.is_there);
  CHECK(bank.stats().layouts == 0);

  std::atomic<std::size_t> whole{0};
  Crowd second(kThreads, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (voice && bench.stamp(*voice, 1) == 1) ++whole;
  });
  second.join();
  CHECK(whole == kThreads);
  CHECK(bench.store.begin_count() == 2);
  CHECK(bank.stats().load_failures == 1);
}

TEST_CASE("a write during a slow load wins: who waits gets what was written", "[bank][flight]") {
  Bench bench;
  bench.keep(1, 1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> current{0};
  Crowd waiting(3, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (voice && bench.stamp(*voice, 1) == 2) ++current;
  });
  bench.store.wait_for_reads(1);  // of stamp 1
  SECTION("by this bank") { REQUIRE(bank.put(id_of(1), record_of(1, 2))); }
  SECTION("by another process") {
    bench.keep(1, 2);
    bank.invalidate(id_of(1));
  }
  SECTION("by another process, nobody knows of what") {
    bench.keep(1, 2);
    bank.invalidate_all();
  }
  bench.store.release();
  waiting.join();
  CHECK(current == 3);
  const auto voice = bank.get(id_of(1));
  REQUIRE(voice);
  CHECK(bench.stamp(*voice, 1) == 2);
  CHECK(bank.stats().stale_flights == 1);
}

TEST_CASE("a removal during a slow load wins: it is not found, and not kept", "[bank][flight]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> told{0};
  Crowd waiting(3, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (!voice && voice.error().status == Status::kNotFound) ++told;
  });
  bench.store.wait_for_reads(1);
  REQUIRE(bank.remove(id_of(1)));
  bench.store.release();
  waiting.join();
  CHECK(told == 3);
  CHECK(!bank.explain(id_of(1)).device.is_there);
}

TEST_CASE("a late 'not found' does not hide a voice that was made meanwhile", "[bank][flight][negative]") {
  Bench bench;
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> whole{0};
  Crowd waiting(3, [&](std::size_t) {
    const auto voice = bank.get(id_of(1));
    if (voice && bench.stamp(*voice, 1) == 5) ++whole;
  });
  bench.store.wait_for_reads(1);  // there was nothing
  REQUIRE(bank.put(id_of(1), record_of(1, 5)));
  bench.store.release();
  waiting.join();
  CHECK(whole == 3);
  CHECK(!bank.explain(id_of(1)).is_known_missing);
  bank.trim(16 * kMiB);
  const auto voice = bank.get(id_of(1));
  REQUIRE(voice);
  CHECK(bench.stamp(*voice, 1) == 5);
}

TEST_CASE("that a voice is not there is remembered for a second, unless it is written", "[bank][negative]") {
  Bench bench;
  VoiceBank& bank = bench.make();
  const auto missing = bank.get(id_of(1));
  REQUIRE(missing.error().status == Status::kNotFound);
  CHECK(missing.error().message.find(id_of(1)) != std::string::npos);
  CHECK(bank.get(id_of(1)).error().status == Status::kNotFound);
  CHECK(bank.try_get(id_of(1)).error().status == Status::kNotFound);
  CHECK(bench.store.read_count() == 1);
  CHECK(bank.stats().negative_hits == 2);
  CHECK(bank.explain(id_of(1)).is_known_missing);

  bench.keep(1, 3);  // another process: seen within a second
  CHECK(bank.get(id_of(1)).error().status == Status::kNotFound);
  bench.skew = 1001ms;
  REQUIRE(bank.get(id_of(1)));

  CHECK(bank.get(id_of(2)).error().status == Status::kNotFound);
  REQUIRE(bank.put(id_of(2), record_of(2, 1)));  // this one: at once
  bank.trim(16 * kMiB);
  CHECK(bank.get(id_of(2)));
}

TEST_CASE("of ids that are not there only the last are remembered", "[bank][negative]") {
  NegativeEntries missing;
  const Clock::time_point now = Clock::now();
  for (std::uint64_t i = 0; i < 10 * NegativeEntries::kMost; ++i) {
    missing.add(id_of(i % 400), now + 1s);
    if (i % 3 == 0) missing.erase(id_of(i % 400));
  }
  CHECK(missing.size() <= NegativeEntries::kMost);
  CHECK(missing.holds(id_of((10 * NegativeEntries::kMost - 2) % 400), now));
  CHECK(!missing.holds(id_of((10 * NegativeEntries::kMost - 2) % 400), now + 1s));
  missing.add("x", now + 1s);
  missing.add("x", now + 2s);  // again: the later end counts
  CHECK(missing.holds("x", now + 1500ms));
}

TEST_CASE("try_get waits for nothing and goes on where it stopped", "[bank][flight]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  for (int i = 0; i < 3; ++i) {
    const auto pending = bank.try_get(id_of(1));
    REQUIRE(pending);
    CHECK(!*pending);
  }
  CHECK(bench.store.begin_count() == 1);
  bench.store.release();
  const auto there = bank.try_get(id_of(1));
  REQUIRE(there);
  REQUIRE(*there);
  CHECK(bench.stamp(**there, 1) == 1);
}

TEST_CASE("loads that nobody waits for are bounded", "[bank][flight]") {
  Bench bench;
  bench.store.block();
  VoiceBank& bank = bench.make();
  for (std::uint64_t i = 0; i < FlightTable::kMostUnattended + 100; ++i) static_cast<void>(bank.try_get(id_of(i)));
  CHECK(bank.stats().open_flights == FlightTable::kMostUnattended);
}

TEST_CASE("impossible ids are refused before anything is asked", "[bank]") {
  Bench bench;
  VoiceBank& bank = bench.make();
  for (const std::string& id : {std::string(), std::string(513, 'x')}) {
    CHECK(bank.get(id).error().status == Status::kInvalidArgument);
    CHECK(bank.try_get(id).error().status == Status::kInvalidArgument);
    CHECK(bank.put(id, record_of(1, 1)).error().status == Status::kInvalidArgument);
    CHECK(bank.remove(id).error().status == Status::kInvalidArgument);
  }
  CHECK(bench.store.begin_count() == 0);
  REQUIRE(bank.put(std::string(512, 'x'), record_of(1, 1)));
  CHECK(bank.get(std::string(512, 'x')));
}
