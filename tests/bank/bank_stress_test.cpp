// SPDX-License-Identifier: MIT
//
// Eight threads do everything at once; every payload is compared with its id, its stamp and its checksum, and no thread
// ever gets a version older than one it knows to be written.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>

#include "bank_fixture.hpp"
#include "cache/short_form.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using namespace std::chrono_literals;
using timbre::Status;
using timbre::device::Stream;

namespace {

constexpr std::size_t kThreads = 8;
constexpr std::uint64_t kIds = 400;

/// The newest write of an id that has returned. Stamps rise with the store's order: one writer of an id at a time.
struct Written {
  std::mutex writing;
  std::atomic<std::uint64_t> stamp{0};     // of the last put or remove that has returned
  std::uint64_t next = 1;                  // guarded by writing
  std::atomic<std::uint64_t> removals{0};  // begun
};

struct Stress {
  explicit Stress(bool two_tiers) : bench(10 * kPage, two_tiers, 14 * kPage), bank(bench.make()) {}
  Bench bench;
  VoiceBank& bank;
  std::array<Written, kIds> written;
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> stale{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> checked{0};
};

class Worker {
 public:
  Worker(Stress& stress, std::uint64_t seed) : stress_(stress), stream_(Stream{seed + 1}), dice_{seed * 2 + 1} {}

  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) step();
    kept_.clear();
  }

 private:
  void step() {
    const std::uint64_t number = dice_.roll() % 2 == 0 ? dice_.roll() % (kIds / 10) : dice_.roll() % kIds;
    const std::uint64_t what = dice_.roll() % 200;
    if (what < 12) return put(number);
    if (what < 16) return remove(number);
    if (what < 18) return static_cast<void>(stress_.bank.trim(kPage));
    if (what < 20) return prefetch(number);
    if (what < 24) return batch(number);
    if (what < 26) return stress_.bank.poll(Clock::now());
    if (what < 28) return stress_.bank.invalidate(id_of(number));
    if (what < 40) return try_use(number);
    use(number);
  }

  static std::size_t style_of(std::uint64_t stamp) { return stamp % 7 == 0 ? 5000 : 192; }  // rows of 20 KB

  void put(std::uint64_t number) {
    Written& written = stress_.written[number];
    const std::lock_guard lock(written.writing);
    const std::uint64_t stamp = written.next++;
    if (!stress_.bank.put(id_of(number), record_of(number, stamp, style_of(stamp)))) ++stress_.failed;
    written.stamp = stamp;
    check(number, stress_.bank.get(id_of(number)), stamp);  // reads what it wrote: nobody else may write now
  }

  void remove(std::uint64_t number) {
    Written& written = stress_.written[number];
    const std::lock_guard lock(written.writing);
    ++written.removals;
    const auto removed = stress_.bank.remove(id_of(number));
    if (!removed && removed.error().status != Status::kNotFound) ++stress_.failed;
    written.stamp = written.next++;
    if (stress_.bank.get(id_of(number))) ++stress_.stale;
  }

  void use(std::uint64_t number) {
    const std::uint64_t known = stress_.written[number].stamp;
    check(number, stress_.bank.get(id_of(number)), known);
  }

  void try_use(std::uint64_t number) {
    const std::uint64_t known = stress_.written[number].stamp;
    auto voice = stress_.bank.try_get(id_of(number));
    if (!voice) return check(number, std::move(voice).error(), known);
    if (*voice) check(number, std::move(**voice), known);
  }

  void batch(std::uint64_t number) {
    std::array<std::string, 3> ids{id_of(number), id_of((number + 1) % kIds), id_of(number)};
    const std::array<std::string_view, 3> views{ids[0], ids[1], ids[2]};
    const std::uint64_t known = stress_.written[number].stamp;
    std::array<VoiceLease, 3> leases;
    std::array<Status, 3> statuses{};
    static_cast<void>(stress_.bank.get_batch(views, leases, statuses));
    for (const std::size_t row : {0U, 2U}) {
      if (leases[row]) check(number, std::move(leases[row]), known);
    }
  }

  void prefetch(std::uint64_t number) {
    std::array<std::string, 4> ids;
    std::array<std::string_view, 4> views;
    for (std::size_t i = 0; i < 4; ++i) views[i] = ids[i] = id_of((number + i) % kIds);
    static_cast<void>(stress_.bank.prefetch(views, Clock::now() + 1ms));
  }

  void check(std::uint64_t number, timbre::Result<VoiceLease> voice, std::uint64_t known) {
    ++stress_.checked;
    if (!voice) {
      if (voice.error().status != Status::kNotFound) ++stress_.failed;
      if (known != 0 && stress_.written[number].removals == 0) ++stress_.stale;
      return;
    }
    const auto stamp = stamp_of(stress_.bench.device(), *voice, number, stream_);
    if (!stamp) {
      ++stress_.wrong;
    } else if (*stamp < known) {
      ++stress_.stale;
    }
    const std::uint64_t roll = dice_.roll() % 16;
    if (roll == 0) {
      if (!stress_.bank.release_on(*voice, stream_)) ++stress_.failed;
    } else if (roll == 1) {
      if (kept_.size() == 10) kept_.erase(kept_.begin());
      kept_.push_back(std::move(*voice));
    }
  }

  Stress& stress_;
  Stream stream_;
  Dice dice_;
  std::vector<VoiceLease> kept_;
};

void run(bool two_tiers, std::size_t operations) {
  Stress stress(two_tiers);
  for (std::uint64_t i = 0; i < kIds; i += 2)
    REQUIRE(stress.bank.put(id_of(i), record_of(i, stress.written[i].next++)));
  Crowd crowd(kThreads, [&](std::size_t thread) { Worker(stress, thread).run(operations / kThreads); });
  crowd.join();
  CHECK(stress.wrong == 0);
  CHECK(stress.stale == 0);
  CHECK(stress.failed == 0);
  CHECK(stress.checked > operations / 2);
  if (stress.bench.late) REQUIRE(stress.bench.late->drain());
  stress.bank.poll(in(60s));
  const BankStats stats = stress.bank.stats();
  timbre::cache::test::check_no_leases(stats.device);
  CHECK(stats.open_flights == 0);
  CHECK(stats.rooms_in_limbo == 0);
  CHECK(stats.refused_records == 0);
  CHECK(stats.layouts <= 2);
  stress.bank.trim(16 * kMiB);
  if (two_tiers) stress.bank.host_tier()->cache.trim(16 * kMiB);
  CHECK(stress.bank.stats().layouts == 0);
}

}  // namespace

TEST_CASE("nothing is wrong, stale or left behind after everything at once", "[bank][stress]") {
  const std::size_t operations =
      timbre::cache::long_test("operations", 400'000, timbre::cache::kSanitized ? 6'000 : 40'000);
  SECTION("one tier") { run(false, operations); }
  SECTION("a late device over a host tier") { run(true, operations / 4); }
}

TEST_CASE("who writes reads it, or something newer, whoever else writes the same ids", "[bank][stress]") {
  const std::size_t rounds = timbre::cache::short_form("rounds", 4000, 400);
  Bench bench(2 * kPage, true, 2 * kPage);
  VoiceBank& bank = bench.make();
  std::atomic<std::uint64_t> old{0};
  Crowd crowd(4, [&](std::size_t thread) {
    Dice dice{thread + 9};
    for (std::size_t i = 0; i < rounds / 4; ++i) {
      const std::uint64_t number = dice.roll() % 3;
      const auto put = bank.put(id_of(number), record_of(number, dice.roll() % 1000 + 1));
      const auto got = bank.get(id_of(number));
      if (!put || !got || got->version().sequence < put->sequence) ++old;
    }
  });
  crowd.join();
  CHECK(old == 0);
}
