// SPDX-License-Identifier: MIT
//
// Eight threads do everything at once; every payload that a lease gives is compared with its id and version.
#include "yield_steps.hpp"
//
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <thread>

#include "cache_fixture.hpp"
#include "short_form.hpp"

using namespace timbre::cache;        // NOLINT: a test
using namespace timbre::cache::test;  // NOLINT: a test
namespace device = timbre::device;

namespace {

constexpr int kThreads = 8;
constexpr std::uint64_t kIds = 1500;
constexpr std::uint64_t kBudget = std::uint64_t{1} << 20U;

std::uint64_t bytes_of(std::uint64_t number) {
  if (number % 100 == 7) return 70'000 + number % 3 * 65'536;  // blobs
  return 256 + number % 5 * 512;
}

/// What the threads share beside the cache.
struct Stress {
  device::Device& device;
  VoiceCache& cache;
  std::array<std::atomic<std::uint64_t>, kIds> versions{};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> checked{0};

  Stress(device::Device& target, VoiceCache& tested) : device(target), cache(tested) {}
};

class Worker {
 public:
  Worker(Stress& stress, std::uint64_t seed)
      : stress_(stress), stream_(device::Stream{seed % 1000 + 1}), seed_(seed), dice_{seed * 2 + 1} {}

  void run(std::uint64_t operations) {
    schedule_dice.state = seed_ * 2 + 1;
    for (std::uint64_t i = 0; i < operations; ++i) step();
    kept_.clear();
  }

 private:
  struct Kept {
    Lease lease;
    std::uint64_t number;
    std::uint64_t version;
  };

  void step() {
    const std::uint64_t number = pick();
    const std::uint64_t what = dice_.roll() % 1000;
    if (what < 20) return put(number);
    if (what < 30) return static_cast<void>(stress_.cache.remove(id_of(number)));
    if (what < 33) return maintain(what);
    if (what < 60 && !kept_.empty()) return give_back();
    use(number);
  }

  /// Half of the requests go to a tenth of the ids.
  std::uint64_t pick() {
    const std::uint64_t roll = dice_.roll();
    return roll % 2 == 0 ? dice_.roll() % (kIds / 10) : dice_.roll() % kIds;
  }

  void put(std::uint64_t number) {
    check(load(stress_.cache, stress_.device, number, ++stress_.versions[number], bytes_of(number), Admission::kDemand,
               stream_),
          number);
  }

  void use(std::uint64_t number) {
    Lease lease = stress_.cache.lookup(id_of(number));
    if (!lease) {
      check(load(stress_.cache, stress_.device, number, stress_.versions[number], bytes_of(number), Admission::kDemand,
                 stream_),
            number);
      return;
    }
    check(lease, number);
    const std::uint64_t roll = dice_.roll() % 16;
    if (roll == 0 && kept_.size() < 20) {
      const std::uint64_t version = lease.version().sequence;
      kept_.push_back({std::move(lease), number, version});
    } else if (roll == 1) {
      if (!stress_.cache.release_on(lease, stream_)) ++stress_.failed;
    }
  }

  /// A lease that was kept over much else still shows what it did.
  void give_back() {
    Kept kept = std::move(kept_.front());
    kept_.pop_front();
    if (kept.lease.version().sequence != kept.version) ++stress_.wrong;
    check(kept.lease, kept.number);
  }

  void maintain(std::uint64_t what) {
    if (what == 30) {
      stress_.cache.trim(kBudget / 4);
    } else if (what == 31) {
      stress_.cache.set_budget(kBudget / (1 + dice_.roll() % 3));
    } else if (dice_.roll() % 8 == 0) {
      stress_.cache.clear();
    } else {
      stress_.cache.poll();
    }
  }

  void check(const timbre::Result<Lease>& lease, std::uint64_t number) {
    if (!lease) {
      ++stress_.failed;
    } else {
      check(*lease, number);
    }
  }
  void check(const Lease& lease, std::uint64_t number) {
    ++stress_.checked;
    if (lease.bytes() != bytes_of(number)) ++stress_.wrong;
    if (!is_whole(stress_.device, lease, number, stream_)) ++stress_.wrong;
  }

  Stress& stress_;
  device::Stream stream_;
  std::uint64_t seed_;
  Dice dice_;
  std::deque<Kept> kept_;
};

void stress(device::Device& target, std::uint64_t operations, std::uint64_t seed, PolicyKind kind) {
  CacheOptions options = with_budget(kBudget, kind);
  options.first_use_count = EntryUse::kHalf - 3;
  VoiceCache cache(target, options);
  Stress shared(target, cache);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back(
        [&, t] { Worker(shared, seed * 100 + static_cast<std::uint64_t>(t)).run(operations / kThreads); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.wrong == 0);
  CHECK(shared.failed == 0);
  CHECK(shared.checked > operations / 2);
  CacheStats stats = cache.stats();
  check_no_leases(stats);
  CHECK(stats.moved_rows > 0);
  cache.clear();
  cache.trim(kBudget);
  stats = cache.stats();
  CHECK(stats.held_bytes == 0);
  CHECK(stats.rows.live_bytes + stats.blobs.live_bytes == 0);
}

}  // namespace

TEST_CASE("eight threads see only whole voices of the right id and version", "[cache][stress]") {
  const PolicyKind kind = GENERATE(PolicyKind::kAuto, PolicyKind::kLru);
  const auto target = host(std::uint64_t{256} << 20U);
  stress(*target, long_test("operations", 5'000'000, 200'000), kind == PolicyKind::kAuto ? 1 : 2, kind);
  CHECK(target->usage().live_pages == 0);
}

TEST_CASE("on a device whose work ends late nothing is used after it was freed", "[cache][stress][stream]") {
  const auto target = delayed(std::uint64_t{256} << 20U, 3);
  stress(*target, long_test("operations on a late device", 500'000, 20'000), 3, PolicyKind::kAuto);
  CHECK(target->violation_count() == 0);
}
