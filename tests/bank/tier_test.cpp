// SPDX-License-Identifier: MIT
//
// Tiers: what is where, what moves, and what fails. The device tier is late in most of these: its copies and events
// complete on another thread, and its double tells of every use after a free.
#include <atomic>
#include <catch2/catch.hpp>
#include <limits>

#include "bank_fixture.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using namespace std::chrono_literals;
using timbre::Error;
using timbre::Status;
using timbre::cache::EvictionCause;
using timbre::device::Stream;

TEST_CASE("a voice goes from the store into both tiers, and from the host tier to the device", "[bank][tier]") {
  Bench bench(16 * kMiB, true);
  bench.keep(1);
  VoiceBank& bank = bench.make();
  {
    const auto voice = bank.get(id_of(1));
    REQUIRE(voice);
    CHECK(bank.stats().device.hits == 0);                        // that a load has ended is no use
    CHECK(stamp_of(bench.device(), *voice, 1, Stream{5}) == 1);  // any stream may read: the upload was seen to pass
    CHECK(voice->layout().find("style")->offset == 512);
  }
  VoiceReport report = bank.explain(id_of(1));
  CHECK(report.device.is_there);
  CHECK(report.host->is_there);
  CHECK(report.device.version == report.host->version);
  CHECK(report.device.bytes == 1280);

  CHECK(bank.trim(16 * kMiB) > 0);
  report = bank.explain(id_of(1));
  CHECK(!report.device.is_there);
  CHECK(report.host->is_there);
  const auto again = bank.get(id_of(1));
  REQUIRE(again);
  CHECK(bench.stamp(*again, 1) == 1);
  CHECK(bench.store.read_count() == 1);
  CHECK(bank.stats().promotions == 1);
}

TEST_CASE("a thousand voices through a device tier of fifty keep their bytes", "[bank][tier]") {
  constexpr std::uint64_t kVoices = 200;
  Bench bench(kPage * 2, true, kPage * 8);  // 2 pages hold 102 rows, 8 pages more than the voices need
  for (std::uint64_t i = 0; i < kVoices; ++i) bench.keep(i, 1);
  VoiceBank& bank = bench.make();
  Dice dice{11};
  std::size_t whole = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = dice.roll() % kVoices;
    const auto voice = bank.get(id_of(number));
    if (voice && bench.stamp(*voice, number) == 1) ++whole;
  }
  CHECK(whole == 1000);
  const BankStats stats = bank.stats();
  CHECK(stats.loads <= kVoices);
  CHECK(stats.promotions > 100);
  CHECK(stats.device.rows.evictions[static_cast<std::size_t>(EvictionCause::kRoom)] > 100);
  CHECK(stats.layouts == 1);
  CHECK(stats.device.leases == 0);
}

TEST_CASE("what both tiers have dropped is loaded again", "[bank][tier]") {
  Bench bench(16 * kMiB, true, 16 * kMiB);
  bench.keep(1);
  VoiceBank& bank = bench.make();
  REQUIRE(bank.get(id_of(1)));
  bank.host_tier()->cache.trim(16 * kMiB);
  CHECK(bank.explain(id_of(1)).device.is_there);  // either tier keeps what the other drops
  bank.trim(16 * kMiB);
  REQUIRE(bank.get(id_of(1)));
  CHECK(bench.store.read_count() == 2);
}

TEST_CASE("a lease keeps the old version while the voice is put again", "[bank][tier][lease]") {
  for (const bool two_tiers : {false, true}) {
    Bench bench(16 * kMiB, two_tiers);
    VoiceBank& bank = bench.make();
    const auto first = bank.put(id_of(1), record_of(1, 1));
    REQUIRE(first);
    const auto old = bank.get(id_of(1));
    REQUIRE(old);
    const auto second = bank.put(id_of(1), record_of(1, 2, 64));
    REQUIRE(second);
    CHECK(second->sequence > first->sequence);
    const auto renewed = bank.get(id_of(1));
    REQUIRE(renewed);
    CHECK(renewed->version().sequence == second->sequence);
    CHECK(bench.stamp(*renewed, 1) == 2);
    CHECK(bench.stamp(*old, 1) == 1);
    CHECK(old->version().sequence == first->sequence);
    CHECK(bank.stats().layouts == 2);
    REQUIRE(bank.remove(id_of(1)));
    CHECK(bench.stamp(*old, 1) == 1);
    CHECK(bank.get(id_of(1)).error().status == Status::kNotFound);
    CHECK(bank.remove(id_of(1)).error().status == Status::kNotFound);
  }
}

TEST_CASE("a put shows the voice in the host tier, or the only one, without a read", "[bank][tier]") {
  for (const bool two_tiers : {false, true}) {
    Bench bench(16 * kMiB, two_tiers);
    VoiceBank& bank = bench.make();
    REQUIRE(bank.put(id_of(1), record_of(1, 1)));
    const VoiceReport report = bank.explain(id_of(1));
    CHECK((two_tiers ? report.host->is_there : report.device.is_there));
    REQUIRE(bank.get(id_of(1)));
    CHECK(bench.store.read_count() == 0);
  }
}

TEST_CASE("a put that conflicts or fails leaves no version in the tiers that could be wrong", "[bank][tier]") {
  Bench bench;
  VoiceBank& bank = bench.make();
  const auto first = bank.put(id_of(1), record_of(1, 1), timbre::store::Expected{});
  REQUIRE(first);
  bench.keep(1, 2);  // another process
  const auto conflict = bank.put(id_of(1), record_of(1, 3), timbre::store::Expected{first->sequence, {}});
  CHECK(conflict.error().status == Status::kConflict);
  CHECK(bench.stamp(*bank.get(id_of(1)), 1) == 2);
  bench.store.fail_next_write(Error{Status::kIo, "no answer"}, true);
  CHECK(bank.put(id_of(1), record_of(1, 4)).error().status == Status::kIo);
  CHECK(bench.stamp(*bank.get(id_of(1)), 1) == 4);
  bench.store.fail_next_write(Error{Status::kIo, "no answer"}, true);
  CHECK(bank.remove(id_of(1)).error().status == Status::kIo);
  CHECK(bank.get(id_of(1)).error().status == Status::kNotFound);
}

TEST_CASE("records that no check passes are neither kept nor shown", "[bank][tier]") {  // public failure 18, in part
  Bench bench(16 * kMiB, true);
  VoiceBank& bank = bench.make();
  timbre::voice::VoiceRecord poisoned = record_of(1, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(poisoned.tensors[1].data.data() + 40, &nan, sizeof nan);
  const auto put = bank.put(id_of(1), poisoned);
  CHECK(put.error().status == Status::kInvalidArgument);
  CHECK(put.error().message.find("element 10 is not finite") != std::string::npos);
  CHECK(bench.store.voices().read(id_of(1)).error().status == Status::kNotFound);

  REQUIRE(bench.store.voices().put(id_of(1), poisoned));  // the store's bytes went wrong
  const auto got = bank.get(id_of(1));
  CHECK(got.error().status == Status::kFormat);
  CHECK(got.error().message.find(id_of(1)) != std::string::npos);
  CHECK(got.error().message.find("'style'") != std::string::npos);
  poisoned.tensors[1].data.pop_back();
  REQUIRE(bench.store.voices().put(id_of(1), poisoned));
  CHECK(bank.get(id_of(1)).error().status == Status::kFormat);
  CHECK(bank.stats().refused_records == 2);
  CHECK(!bank.explain(id_of(1)).device.is_there);
  CHECK(!bank.explain(id_of(1)).host->is_there);
  REQUIRE(bank.put(id_of(1), record_of(1, 2)));
  CHECK(bench.stamp(*bank.get(id_of(1)), 1) == 2);
}

TEST_CASE("the layout tells what a record says of its model", "[bank][tier]") {  // public failure 17
  Bench bench;
  VoiceBank& bank = bench.make();
  timbre::voice::VoiceRecord speaker;
  speaker.model_fingerprint = std::string(32, 'c');
  speaker.speaker = 7;
  speaker.scales.noise = 0.25F;
  REQUIRE(bank.put("speaker", speaker));
  speaker.speaker = 8;
  REQUIRE(bank.put("another", speaker));
  const auto voice = bank.get("speaker");
  const auto another = bank.get("another");
  REQUIRE((voice && another));
  CHECK(voice->layout().model_fingerprint == std::string(32, 'c'));
  CHECK(voice->layout().speaker == 7);
  CHECK(another->layout().speaker == 8);
  CHECK(voice->layout().scales.noise == 0.25F);
  CHECK(voice->layout().tensors.empty());
}

TEST_CASE("a cache of 0 bytes gives every caller its voice, and waits for nothing", "[bank][room]") {
  Bench bench(0, true, 0);
  for (std::uint64_t i = 0; i < 20; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  std::vector<VoiceLease> leases;
  for (std::uint64_t i = 0; i < 20; ++i) {
    auto voice = bank.get(id_of(i));
    REQUIRE(voice);
    CHECK(bench.stamp(*voice, i) == 1);
    leases.push_back(std::move(*voice));
  }
  CHECK(bank.stats().device.transient_inserts == 20);  // one try each: a release could not have helped
  CHECK(bank.stats().device.transient_bytes == 20 * kPage);
  leases.clear();
  CHECK(bank.stats().device.transient_bytes == 0);
  CHECK(bank.stats().device.held_bytes == 0);
  CHECK(bank.stats().layouts == 0);
}

TEST_CASE("callers of one load share it also where the cache can keep nothing", "[bank][room]") {
  constexpr std::size_t kThreads = 30;
  Bench bench(0, true, 0);
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  std::atomic<std::size_t> whole{0};
  Crowd crowd(kThreads, [&](std::size_t i) {
    auto voice = bank.get(id_of(1));
    if (!voice || stamp_of(bench.device(), *voice, 1, Stream{i + 1}) != 1) return;
    if (bank.release_on(*voice, Stream{i + 1}) && !*voice) ++whole;
  });
  until([&] { return bank.stats().waiters == kThreads; });
  bench.store.release();
  crowd.join();
  CHECK(whole == kThreads);
  CHECK(bench.store.read_count() == 1);
  REQUIRE(bench.late->drain());
  bank.poll(Clock::now());
  CHECK(bank.stats().device.leases == 0);
  CHECK(bank.stats().device.transient_bytes == 0);
}

TEST_CASE("a get waits for a release that makes room, and takes memory outside the budget after 10 ms",
          "[bank][room]") {
  Bench bench(kPage);  // one page of rows
  const std::uint64_t rows = kPage / 1280;
  constexpr std::uint64_t kSpare = 100;
  for (std::uint64_t i = 0; i < rows + kSpare; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  std::vector<VoiceLease> leases;
  for (std::uint64_t i = 0; i < rows; ++i) {
    auto voice = bank.get(id_of(i));
    REQUIRE(voice);
    leases.push_back(std::move(*voice));
  }
  CHECK(bank.stats().device.transient_inserts == 0);
  const Clock::time_point begin = Clock::now();
  const auto outside = bank.get(id_of(rows));
  REQUIRE(outside);
  CHECK(Clock::now() - begin >= 10ms);
  CHECK(bench.stamp(*outside, rows) == 1);
  CHECK(bank.stats().device.transient_bytes == kPage);

  const auto hurried = bank.try_get(id_of(rows + 1));  // no time to wait
  REQUIRE(hurried);
  CHECK(hurried->has_value());
  CHECK(bank.stats().device.transient_bytes == 2 * kPage);

  // Somebody lets go while a get waits: it stays inside the budget. On a slow machine that may come too late; again
  // then.
  for (std::uint64_t next = rows + 2; next < rows + kSpare; next += 2) {
    std::atomic<bool> is_over{false};
    const std::uint64_t before = bank.stats().device.transient_inserts;
    Crowd releasing(1, [&](std::size_t) {
      until([&] { return is_over || bank.stats().device.transient_inserts > before; });
      leases.back().release();
    });
    const auto inside = bank.get(id_of(next));
    is_over = true;
    releasing.join();
    REQUIRE(inside);
    if (bank.stats().device.transient_bytes == 2 * kPage) return;
    leases.back() = std::move(*bank.get(id_of(next + 1)));
  }
  FAIL("no release came in time");
}

TEST_CASE("an upload or event that fails is an error without an entry, and the memory comes back", "[bank][tier]") {
  Bench bench(16 * kMiB, true);
  bench.keep(1);
  VoiceBank& bank = bench.make();
  bench.late->script().copies.fail_every(1);
  const auto failed = bank.get(id_of(1));
  CHECK(failed.error().status == Status::kIo);
  CHECK(failed.error().message.find(id_of(1)) != std::string::npos);
  bench.late->script().copies.fail_every(0);
  bench.late->script().events.fail_every(1);
  CHECK(bank.get(id_of(1)).error().status == Status::kIo);
  CHECK(bank.stats().rooms_in_limbo == 1);  // its upload runs, and nobody can tell until when
  CHECK(bank.stats().device.rows.entries == 0);
  bench.late->script().events.fail_every(0);
  until([&] { return bank.stats().rooms_in_limbo == 0; });
  const auto voice = bank.get(id_of(1));
  REQUIRE(voice);
  CHECK(bench.stamp(*voice, 1) == 1);
}

TEST_CASE("a device without any memory is an error that names the voice", "[bank][room]") {
  Bench bench(0, true);
  bench.keep(1);
  REQUIRE(bench.late->set_capacity(0));
  VoiceBank& bank = bench.make();
  const auto failed = bank.get(id_of(1));
  CHECK(failed.error().status == Status::kOutOfMemory);
  CHECK(failed.error().message.find(id_of(1)) != std::string::npos);
  REQUIRE(bench.late->set_capacity(kMiB));
  REQUIRE(bank.get(id_of(1)));
  CHECK(bench.store.read_count() == 2);  // nothing was left of the flight that failed, not in the host tier either
}

TEST_CASE("what is looked up is pinned: evictions between lookup and use change no byte", "[bank][lease]") {
  Bench bench(2 * kPage, true, 2 * kPage);  // public failure 7
  for (std::uint64_t i = 0; i < 300; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  std::vector<VoiceLease> pinned;
  for (std::uint64_t i = 0; i < 10; ++i) pinned.push_back(std::move(*bank.get(id_of(i))));
  for (std::uint64_t i = 10; i < 300; ++i) REQUIRE(bank.get(id_of(i)));
  bank.trim(16 * kMiB);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(bench.stamp(pinned[i], i) == 1);
}

TEST_CASE("a lease given back on a stream lasts until the stream has passed", "[bank][lease]") {
  Bench bench(16 * kMiB, true);
  bench.keep(1);
  VoiceBank& bank = bench.make();
  for (int i = 0; i < 2; ++i) {  // a flight's lease, a hit's lease
    auto voice = bank.get(id_of(1));
    REQUIRE(voice);
    bench.late->hold(Stream{9});
    std::vector<std::byte> row(voice->bytes());
    REQUIRE(bench.late->download(row.data(), voice->address(), row.size(), Stream{9}));
    REQUIRE(bank.release_on(*voice, Stream{9}));
    CHECK(!*voice);
    bank.trim(16 * kMiB);
    bank.poll(Clock::now());
    CHECK(bank.explain(id_of(1)).device.is_there);  // it could not go
    bench.late->release(Stream{9});
    until([&] { return bench.late->queued_count() == 0; });
    bank.poll(Clock::now());
    CHECK(bank.stats().device.leases == 0);
    CHECK(bench.store.read_count() == 1);
  }
}

TEST_CASE("explain tells where a voice is, in which version, and how it left", "[bank][explain]") {
  Bench bench(16 * kMiB, true);
  VoiceBank& bank = bench.make();
  CHECK(!bank.explain(id_of(1)).device.is_there);
  CHECK(!bank.explain(id_of(1)).device.last_departure);
  const auto version = bank.put(id_of(1), record_of(1, 1));
  REQUIRE(bank.get(id_of(1)));
  CHECK(bank.explain(id_of(1)).device.version.sequence == version->sequence);
  REQUIRE(bank.put(id_of(1), record_of(1, 2)));
  CHECK(bank.explain(id_of(1)).device.last_departure->cause == EvictionCause::kReplaced);
  CHECK(bank.explain(id_of(1)).host->is_there);
  REQUIRE(bank.remove(id_of(1)));
  CHECK(bank.explain(id_of(1)).host->last_departure->cause == EvictionCause::kRemoved);
}
