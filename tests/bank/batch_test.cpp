// SPDX-License-Identifier: MIT
//
// Many ids at once: batches with a status for each row, and prefetches.
#include <algorithm>
#include <catch2/catch.hpp>

#include "bank/lease_source.hpp"
#include "bank_fixture.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using namespace std::chrono_literals;
using timbre::Error;
using timbre::Status;

namespace {

struct Batch {
  explicit Batch(std::vector<std::string> given) : ids(std::move(given)), views(ids.begin(), ids.end()) {
    leases.resize(ids.size());
    statuses.resize(ids.size(), Status::kInternal);
  }
  std::optional<Error> get(VoiceBank& bank, const Wait& wait = {}) {
    return bank.get_batch(views, leases, statuses, wait);
  }
  std::vector<std::string> ids;
  std::vector<std::string_view> views;
  std::vector<VoiceLease> leases;
  std::vector<Status> statuses;
};

}  // namespace

TEST_CASE("each row of a batch has its own lease or status", "[bank][batch]") {  // public failure 19
  Bench bench;
  for (std::uint64_t i = 0; i < 100; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  REQUIRE(bank.get(id_of(3)));
  Batch batch({id_of(3), id_of(1), id_of(1), "", id_of(500), id_of(3), std::string(600, 'x'), id_of(500), id_of(99)});
  for (int round = 0; round < 2; ++round) {
    const auto error = batch.get(bank);
    REQUIRE(error);
    CHECK(error->status == Status::kInvalidArgument);  // of the first row that has one
    const std::vector<Status> expected{Status::kOk,
                                       Status::kOk,
                                       Status::kOk,
                                       Status::kInvalidArgument,
                                       Status::kNotFound,
                                       Status::kOk,
                                       Status::kInvalidArgument,
                                       Status::kNotFound,
                                       Status::kOk};
    CHECK(batch.statuses == expected);
    for (std::size_t row = 0; row < expected.size(); ++row) {
      CHECK(static_cast<bool>(batch.leases[row]) == (expected[row] == Status::kOk));
    }
    CHECK(bench.stamp(batch.leases[2], 1) == 1);
    CHECK(bench.stamp(batch.leases[8], 99) == 1);
  }
  CHECK(bench.store.read_count() == 4);  // 3, 1, 500 and 99
  batch.leases.clear();
  CHECK(bank.stats().device.leases == 0);
  CHECK(!Batch({}).get(bank));
}

TEST_CASE("a batch of more rows than the cache looks up at once is whole", "[bank][batch]") {
  Bench bench(16 * kMiB, true);
  std::vector<std::string> ids;
  for (std::uint64_t i = 0; i < 256; ++i) {
    bench.keep(i, i + 1);
    ids.push_back(id_of(i));
  }
  VoiceBank& bank = bench.make();
  for (int round = 0; round < 2; ++round) {
    Batch batch(ids);
    CHECK(!batch.get(bank));
    std::size_t whole = 0;
    for (std::uint64_t i = 0; i < 256; ++i) whole += bench.stamp(batch.leases[i], i) == i + 1 ? 1 : 0;
    CHECK(whole == 256);
  }
  CHECK(bench.store.read_count() == 256);
}

TEST_CASE("all loads of a batch have begun before one is waited for", "[bank][batch]") {
  Bench bench;
  for (std::uint64_t i = 0; i < 3; ++i) bench.keep(i);
  bench.store.block();
  VoiceBank& bank = bench.make();
  Batch batch({id_of(0), id_of(1), id_of(2)});
  std::optional<Error> error;
  Crowd caller(1, [&](std::size_t) { error = batch.get(bank); });
  bench.store.wait_for_reads(3);  // while none can end
  bench.store.release();
  caller.join();
  CHECK(!error);
  CHECK(batch.statuses == std::vector<Status>(3, Status::kOk));
}

TEST_CASE("a batch that runs out of time has what was there, and loses nothing", "[bank][batch]") {
  Bench bench;
  for (std::uint64_t i = 0; i < 3; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  REQUIRE(bank.get(id_of(1)));
  bench.store.block();
  Batch batch({id_of(0), id_of(1), id_of(2)});
  CHECK(batch.get(bank, within(5ms))->status == Status::kTimeout);
  CHECK(batch.statuses == std::vector<Status>{Status::kTimeout, Status::kOk, Status::kTimeout});
  bench.store.release();
  CHECK(!batch.get(bank));
  CHECK(bench.store.begin_count() == 3);
}

TEST_CASE("prefetched voices are there, and displace nothing that is used", "[bank][prefetch]") {
  Bench bench(4 * kPage, false);
  bench.options.device.cache.rows = timbre::cache::PolicyKind::kLru;
  const std::uint64_t rows = 4 * (kPage / 1280);
  for (std::uint64_t i = 0; i < 3 * rows; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  for (std::uint64_t i = 0; i < rows / 2; ++i) REQUIRE(bank.get(id_of(i)));
  std::vector<std::string> ids;
  for (std::uint64_t i = rows; i < 3 * rows; ++i) ids.push_back(id_of(i));
  const std::vector<std::string_view> views(ids.begin(), ids.end());
  const PrefetchReport report = bank.prefetch(views, in(60s));
  CHECK(report.loaded == ids.size());
  CHECK(report.failed + report.pending + report.there == 0);
  std::size_t used_left = 0;
  for (std::uint64_t i = 0; i < rows / 2; ++i) used_left += bank.explain(id_of(i)).device.is_there ? 1 : 0;
  CHECK(used_left == rows / 2);
  CHECK(bank.explain(ids.back()).device.is_there);
  CHECK(bank.stats().device.leases == 0);
}

TEST_CASE("a prefetch returns by its deadline, and poll ends what it began", "[bank][prefetch]") {
  Bench bench;
  bench.keep(1);
  bench.keep(2);
  VoiceBank& bank = bench.make();
  REQUIRE(bank.get(id_of(1)));
  bench.store.block();
  const std::vector<std::string> ids{id_of(1), id_of(2), id_of(3), ""};
  const std::vector<std::string_view> views(ids.begin(), ids.end());
  PrefetchReport report = bank.prefetch(views, in(5ms));
  CHECK(report.there == 1);
  CHECK(report.pending == 2);
  CHECK(report.failed == 1);
  CHECK(report.first_error->status == Status::kInvalidArgument);
  bench.store.release();
  bank.poll(in(60s));
  CHECK(bank.explain(id_of(2)).device.is_there);
  CHECK(bank.explain(id_of(3)).is_known_missing);
  report = bank.prefetch(views, in(60s));
  CHECK(report.there == 2);
  CHECK(report.failed == 2);
  CHECK(bank.stats().last_background_error.empty());
}

TEST_CASE("what fails in the background is kept for who asks", "[bank][prefetch]") {
  Bench bench;
  bench.keep(1);
  bench.store.block();
  bench.store.fail_next_load(Error{Status::kIo, "the disk is gone"});
  VoiceBank& bank = bench.make();
  const std::string id = id_of(1);
  const std::vector<std::string_view> views{id};
  CHECK(bank.prefetch(views, Clock::now()).pending == 1);
  bench.store.release();
  bank.poll(in(60s));
  CHECK(bank.stats().last_background_error == "the disk is gone");
}

TEST_CASE("a prefetch that somebody asks for meanwhile is a demand", "[bank][prefetch]") {
  Bench bench(0);
  bench.keep(1);
  bench.store.block();
  VoiceBank& bank = bench.make();
  const std::string id = id_of(1);
  const std::vector<std::string_view> views{id};
  CHECK(bank.prefetch(views, Clock::now()).pending == 1);
  bench.store.release();
  const auto voice = bank.get(id);
  REQUIRE(voice);
  CHECK(bench.stamp(*voice, 1) == 1);
  CHECK(bench.store.begin_count() == 1);
}

TEST_CASE("the most used voices come back after a trim", "[bank][prefetch]") {
  Bench bench;
  for (std::uint64_t i = 0; i < 300; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  for (int round = 0; round < 400; ++round) {
    for (std::uint64_t i = 0; i < 10; ++i) REQUIRE(bank.get(id_of(i)));
    REQUIRE(bank.get(id_of(static_cast<std::uint64_t>(round) % 300)));
  }
  bank.trim(16 * kMiB);
  CHECK(bank.stats().device.rows.entries == 0);
  const PrefetchReport report = bank.prefetch_top(10, in(60s));
  CHECK(report.loaded == 10);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(bank.explain(id_of(i)).device.is_there);
}

TEST_CASE("a list comes from the store, page by page", "[bank]") {
  Bench bench;
  VoiceBank& bank = bench.make();
  for (const char* id : {"npc/2", "npc/1", "boss"}) REQUIRE(bank.put(id, record_of(1, 1)));
  using Ids = std::vector<std::string>;
  CHECK(*bank.list("", "", 2) == Ids{"boss", "npc/1"});
  CHECK(*bank.list("npc/", "npc/1", 9) == Ids{"npc/2"});
}

TEST_CASE("speech reads its records from leases, whichever memory they are in", "[bank][source]") {
  for (const bool two_tiers : {false, true}) {
    Bench bench(16 * kMiB, two_tiers);
    VoiceBank& bank = bench.make();
    const auto version = bank.put(id_of(1), record_of(1, 4));
    LeaseSource voices(bank);
    const auto voice = voices.get(id_of(1));
    REQUIRE(voice);
    CHECK(voice->version == version->sequence);
    CHECK(timbre::voice::checksum(*voice->record) == version->checksum);
    CHECK(voices.try_get(id_of(2)).error().status == Status::kNotFound);
    CHECK(voices.get(id_of(2)).error().status == Status::kNotFound);
    CHECK((*voices.try_get(id_of(1)))->version == version->sequence);
    CHECK(bank.stats().device.leases == 0);
  }
}
