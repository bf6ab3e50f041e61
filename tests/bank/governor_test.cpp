// SPDX-License-Identifier: MIT
//
// The governor on a real cache and told readings. Failures that others have reported of their sizing carry the number
// of the report.
#include "bank/governor.hpp"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "governor_fixture.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using timbre::Error;
using timbre::Status;
using timbre::cache::BudgetReason;
using timbre::cache::BudgetSettings;
using timbre::cache::Lease;
using timbre::cache::test::id_of;
using timbre::cache::test::is_whole;
using timbre::cache::test::kPage;
using timbre::cache::test::kRow;
using timbre::device::MemoryReading;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

}  // namespace

TEST_CASE("the cache has a small budget until the first reading, then that of the formula", "[bank][governor]") {
  Governed tier(plain());
  CHECK(tier.budget() == 64 * kUnit);
  CHECK(tier.reason() == BudgetReason::kBlind);
  tier.set_free(564);
  CHECK(tier.governor->tick());
  CHECK(tier.budget() == 500 * kUnit);
  const GovernorHealth health = tier.governor->health();
  CHECK(health.decision.reason == BudgetReason::kFreeMemory);
  CHECK(health.last_change.from_bytes == 64 * kUnit);
  CHECK(health.last_change.to_bytes == 500 * kUnit);
  CHECK(health.reading->free_bytes == 564 * kUnit);
  CHECK(health.target_bytes == 500 * kUnit);
  CHECK(health.headroom_bytes == 64 * kUnit);
}

TEST_CASE("memory is read once a second, however often somebody ticks", "[bank][governor]") {
  Governed tier(plain());
  tier.set_free(564);
  CHECK(tier.governor->tick());
  for (int i = 0; i < 9; ++i) {
    tier.clock.advance(111);
    CHECK_FALSE(tier.governor->tick());
  }
  tier.clock.advance(1);
  CHECK(tier.governor->tick());
  CHECK(tier.governor->health().readings == 2);
}

TEST_CASE("the cache gives its coldest voices back when others take the memory, and grows back slowly",
          "[bank][governor]") {
  Governed tier(plain(200 * kUnit));
  tier.set_free(900);
  tier.tick();
  tier.load(0, 200);
  CHECK(tier.held() == 200 * kUnit);
  tier.set_free(14);  // 214 in all, less 64
  tier.tick();
  CHECK(tier.held() == 150 * kUnit);
  CHECK(tier.reason() == BudgetReason::kPressure);
  const Lease lease = tier.cache.lookup(id_of(199));
  CHECK((lease && is_whole(*tier.device, lease, 199)));
  tier.set_free(700);
  tier.ticks(30);
  CHECK(tier.budget() == 150 * kUnit);
  CHECK(tier.reason() == BudgetReason::kGrowDelay);
  tier.tick();
  CHECK(tier.budget() == 166 * kUnit);
  CHECK(tier.reason() == BudgetReason::kGrowing);
  tier.ticks(3);
  CHECK(tier.budget() == 200 * kUnit);
  tier.tick();
  CHECK(tier.reason() == BudgetReason::kCap);
  const GovernorHealth health = tier.governor->health();
  CHECK(health.shrinks == 1);
  CHECK(health.grows == 5);  // the first reading and four steps
}

TEST_CASE("what leases hold stays, and goes with the first reading after them", "[bank][governor]") {
  Governed tier(plain(200 * kUnit));
  tier.set_free(900);
  tier.tick();
  std::vector<Lease> leases;
  tier.load(0, 200);
  for (std::uint64_t number = 0; number < 80; ++number) leases.push_back(tier.cache.lookup(id_of(number)));
  tier.set_free(1);
  tier.tick();  // 201 - 64 would be right, and is more than leases hold
  CHECK(tier.held() == 137 * kUnit);
  tier.memory->set(MemoryReading{kUnit, 100 * kUnit});  // another total, so it is said twice
  tier.tick();
  CHECK(tier.reason() == BudgetReason::kUnconfirmed);
  tier.tick();
  CHECK(tier.held() == 80 * kUnit);
  CHECK(tier.budget() == 80 * kUnit);
  const GovernorHealth health = tier.governor->health();
  CHECK(health.decision.reason == BudgetReason::kLeases);
  CHECK(health.decision.at_floor);
  CHECK(health.floor_hits == 1);
  CHECK(health.leased_bytes == 80 * kUnit);
  for (std::uint64_t number = 0; number < 80; ++number) CHECK(is_whole(*tier.device, leases[number], number));
  leases.clear();
  tier.tick();
  CHECK(tier.held() == 17 * kUnit);  // 81 - 64
  CHECK_FALSE(tier.governor->health().decision.at_floor);
}

TEST_CASE("what is transient lies beside the budget, and is no floor of it", "[bank][governor]") {
  Governed tier(plain(10 * kUnit));
  tier.set_free(900);
  tier.tick();
  tier.load(0, 10);
  const auto transient = timbre::cache::test::load(tier.cache, *tier.device, 100, 1, 20 * kUnit);
  REQUIRE(transient);
  const GovernorHealth health = tier.governor->health();
  CHECK(health.leased_bytes == 0);
  CHECK(health.transient_bytes == 20 * kUnit);
  CHECK(health.held_bytes == 10 * kUnit);
  tier.set_free(1);
  tier.tick();
  CHECK(tier.held() == 0);
  CHECK(is_whole(*tier.device, *transient, 100));
}

TEST_CASE("a lease that ends brings the cache within its budget within two seconds", "[bank][governor]") {
  Governed tier(plain(100 * kUnit));
  tier.set_free(900);
  tier.tick();
  tier.load(0, 100);
  Lease lease = tier.cache.lookup(id_of(50));
  CHECK(tier.governor->set_cap(0) == kUnit);
  CHECK(tier.held() == kUnit);
  lease = Lease();
  for (int second = 0; second < 2; ++second) {
    tier.clock.advance(1000);
    CHECK_FALSE(tier.governor->tick());  // a cap of 0 needs no reading
  }
  CHECK(tier.held() == 0);
}

TEST_CASE("a trim gives the bytes at once, and the cache does not take them again for a while", "[bank][governor]") {
  Governed tier(plain(200 * kUnit));
  tier.set_free(900);
  tier.tick();
  CHECK(tier.governor->trim(50 * kUnit) == 0);  // there is nothing yet, and nothing changes
  CHECK(tier.budget() == 200 * kUnit);
  tier.load(0, 200);
  CHECK(tier.governor->trim(50 * kUnit) == 50 * kUnit);
  CHECK(tier.held() == 150 * kUnit);
  CHECK(tier.reason() == BudgetReason::kTrim);
  CHECK(tier.cache.stats().blobs.evictions[static_cast<std::size_t>(timbre::cache::EvictionCause::kTrim)] == 50);
  tier.load(300, 100);
  CHECK(tier.held() == 150 * kUnit);
  tier.ticks(30);
  CHECK(tier.budget() == 150 * kUnit);
  tier.ticks(5);
  CHECK(tier.budget() == 200 * kUnit);
  CHECK(tier.governor->trim(0) == 0);
  CHECK(tier.governor->trim(UINT64_MAX) == 150 * kUnit);
  CHECK(tier.held() == 0);
  tier.load(500, 3);  // which go with their leases
  CHECK(tier.governor->health().trims == 4);
}

TEST_CASE("a trim takes no voice that is in use, and the rest of it goes with the lease", "[bank][governor]") {
  Governed tier(plain(100 * kUnit));
  tier.set_free(900);
  tier.tick();
  tier.load(0, 100);
  std::vector<Lease> leases;
  for (std::uint64_t number = 0; number < 60; ++number) leases.push_back(tier.cache.lookup(id_of(number)));
  CHECK(tier.governor->trim(90 * kUnit) == 40 * kUnit);
  CHECK(tier.held() == 60 * kUnit);
  leases.clear();
  tier.tick();
  CHECK(tier.held() == 10 * kUnit);
}

TEST_CASE("rmm #496: growing never asks for more than is free beyond the headroom, and a failure evicts",
          "[bank][governor][public]") {
  // 60 % of a device of 1 GiB belongs to others; its own readings count.
  auto target = timbre::cache::test::host(kTotal);
  auto* const device = target.get();
  const std::uint64_t others_pages = 614 * kUnit / kPage;
  const auto others = device->allocate(others_pages);
  REQUIRE(others);
  BudgetSettings settings = plain();
  settings.grow_delay = std::chrono::milliseconds(0);
  {
    Governed tier(settings, std::make_unique<DeviceMemory>(*device), std::move(target));
    tier.governor->set_cap(100 * kUnit);
    tier.tick();
    tier.load(0, 100);
    tier.governor->set_cap(BudgetSettings::kNoCap);
    std::uint64_t before = tier.budget();
    for (std::uint64_t round = 0; round < 40; ++round) {
      const auto reading = device->memory();
      REQUIRE(reading);
      const std::uint64_t after = tier.tick();
      CHECK(after <= tier.held() + reading->free_bytes - 64 * kUnit);
      if (round > 0) CHECK(after <= before + 16 * kUnit);
      before = after;
      tier.load(1000 + round * 20, 20);
    }
    CHECK(tier.budget() == 346 * kUnit);
    // And when the device has less than the budget says, loads are served by evictions.
    REQUIRE(static_cast<timbre::device::HostDevice*>(device)->set_capacity(700 * kUnit));
    tier.load(5000, 20);
    CHECK(tier.cache.stats().transient_inserts == 0);
    tier.governor->trim(UINT64_MAX);
    device->free(*others, others_pages);
  }
}

TEST_CASE("FBGEMM PR #5605: what other processes hold is not free, whatever the total is", "[bank][governor][public]") {
  BudgetSettings settings;  // as shipped
  Governed tier(settings);
  tier.governor->set_warm(true);
  tier.memory->set(MemoryReading{50 * kGiB, 256 * kGiB});
  tier.tick();
  const auto expected = static_cast<std::uint64_t>(0.8 * 50 * kGiB) - static_cast<std::uint64_t>(0.05 * 256 * kGiB);
  CHECK(tier.budget() == expected);
  // A child that holds 70 % of a device.
  Governed second(settings);
  second.memory->set(MemoryReading{24 * kGiB, 80 * kGiB});
  second.tick();
  CHECK(second.budget() == 8 * kGiB);  // 0.5 x 24 - 4
}

TEST_CASE("pytorch #35901, #32101, #40989: bytes that move between held and free are counted once",
          "[bank][governor][public]") {
  // A device whose free memory is what nobody holds; the cache fills, empties and fills again.
  auto target = timbre::cache::test::host(kTotal);
  auto* const device = target.get();
  Governed tier(plain(), std::make_unique<DeviceMemory>(*device), std::move(target));
  tier.tick();
  const std::uint64_t budget = tier.budget();
  CHECK(budget == 960 * kUnit);
  for (std::uint64_t round = 0; round < 4; ++round) {
    tier.load(round * 1000, 100 + 50 * round);
    CHECK(tier.tick() == budget);
    CHECK(tier.governor->health().target_bytes == budget);
    tier.cache.clear();
    CHECK(tier.tick() == budget);
    CHECK(tier.governor->health().target_bytes == budget);
  }
}

TEST_CASE("pytorch #35901: what the cache takes or gives back during a reading is not counted twice",
          "[bank][governor][public]") {
  Governed tier(plain());
  tier.set_free(500);
  tier.tick();
  const bool takes = GENERATE(true, false);
  if (!takes) tier.load(0, 100);
  std::uint64_t free = takes ? 500 : 400;
  tier.memory->readings().set_source([&]() -> timbre::Result<MemoryReading> {
    const MemoryReading before{free * kUnit, kTotal};
    if (takes) {
      tier.load(0, 100);  // after the moment that the reading tells of
      return before;
    }
    tier.cache.clear();  // before that moment
    return MemoryReading{(free + 100) * kUnit, kTotal};
  });
  tier.tick();
  CHECK(tier.governor->health().target_bytes == 436 * kUnit);
}

TEST_CASE("vllm #56830, #55169, #2248: others take and free memory at any time, and the cache follows",
          "[bank][governor][public]") {
  Governed tier(plain(200 * kUnit));
  std::uint64_t next = 0;
  std::uint64_t free = 900;
  for (int round = 0; round < 12; ++round) {
    tier.set_free(free);
    tier.ticks(40);
    tier.load(next, 40);
    next += 40;
    // Free memory grows in the middle of the sizing, or shrinks in it.
    free = round % 2 == 0 ? 0 : 1024 - tier.held() / kUnit;
    tier.set_free(free);
    tier.ticks(2);
    CHECK(tier.held() <= tier.budget());
    CHECK(tier.budget() <= 200 * kUnit);
    if (free == 0) CHECK(tier.reason() == BudgetReason::kPressure);
    tier.load(next, 5);  // served in every state
    next += 5;
  }
  CHECK(tier.governor->health().failed_readings == 0);
}

TEST_CASE("llama.cpp #19437, #17536: impossible readings are told, and change nothing", "[bank][governor][public]") {
  Governed tier(plain());
  tier.set_free(564);
  tier.tick();
  const std::array<MemoryReading, 5> impossible = {MemoryReading{0, 0}, MemoryReading{2 * kTotal, kTotal},
                                                   MemoryReading{UINT64_MAX - 5, kTotal},
                                                   MemoryReading{UINT64_MAX - 5, UINT64_MAX}, MemoryReading{kTotal, 0}};
  for (const MemoryReading& reading : impossible) {
    tier.memory->readings().push(reading);
    CHECK(tier.tick() == 500 * kUnit);
    CHECK(tier.reason() == BudgetReason::kImpossible);
  }
  tier.memory->readings().push(Error{Status::kIo, "the driver fell over"});
  CHECK(tier.tick() == 500 * kUnit);
  GovernorHealth health = tier.governor->health();
  CHECK(health.decision.reason == BudgetReason::kReadingFailed);
  CHECK(health.last_error == "the driver fell over");
  CHECK(health.impossible_readings == 5);
  CHECK(health.failed_readings == 1);
  tier.tick();
  health = tier.governor->health();
  CHECK(health.decision.reason == BudgetReason::kFreeMemory);
  CHECK(health.last_error.empty());
  CHECK(health.readings == 8);
}

TEST_CASE("llama.cpp #18111, #23472: a workspace that is wanted late is there after one call, and stays there",
          "[bank][governor][public]") {
  auto target = timbre::cache::test::host(256 * kUnit);
  auto* const device = target.get();
  Governed tier(plain(), std::make_unique<DeviceMemory>(*device), std::move(target));
  tier.tick();
  CHECK(tier.budget() == 192 * kUnit);
  tier.load(0, 150);
  for (std::uint64_t number = 0; number < 1000; ++number) {
    REQUIRE(timbre::cache::test::load(tier.cache, *tier.device, 100'000 + number, 1, kRow));
  }
  const Lease lease = tier.cache.lookup(id_of(149));
  constexpr std::uint64_t kWorkspace = 120 * kUnit;
  REQUIRE_FALSE(device->allocate(kWorkspace / kPage));
  CHECK(tier.governor->out_of_memory(kWorkspace) >= kWorkspace);
  auto workspace = device->allocate(kWorkspace / kPage);
  REQUIRE(workspace);
  CHECK(is_whole(*tier.device, lease, 149));
  GovernorHealth health = tier.governor->health();
  CHECK(health.decision.reason == BudgetReason::kOutOfMemory);
  CHECK(health.out_of_memory == 1);
  CHECK(health.headroom_bytes == kWorkspace);
  // While the cache goes on, the same workspace can be had again at any time.
  for (std::uint64_t round = 0; round < 60; ++round) {
    device->free(*workspace, kWorkspace / kPage);
    tier.tick();
    tier.load(1000 + round * 10, 10);
    workspace = device->allocate(kWorkspace / kPage);
    REQUIRE(workspace);
    tier.tick();
  }
  CHECK(tier.cache.stats().transient_inserts == 0);
  device->free(*workspace, kWorkspace / kPage);
}

TEST_CASE("a failed allocation is answered also by a cache that has nothing", "[bank][governor]") {
  Governed tier(plain());
  tier.set_free(500);
  tier.tick();
  CHECK(tier.governor->out_of_memory(kUnit) == 0);
  CHECK(tier.budget() == 0);  // it does not begin now
  CHECK(tier.governor->out_of_memory(0) == 0);
}

TEST_CASE("a tier of 0 bytes serves every load and reads nothing", "[bank][governor]") {
  Governed tier(plain(0));
  tier.clock.advance(1000);
  CHECK_FALSE(tier.governor->tick());
  CHECK(tier.governor->health().readings == 0);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto lease = timbre::cache::test::load(tier.cache, *tier.device, number, 1, kRow);
    REQUIRE(lease);
    CHECK(is_whole(*tier.device, *lease, number));
  }
  CHECK(tier.held() == 0);
  CHECK(tier.governor->trim(kUnit) == 0);
  // The host may give it bytes later.
  tier.set_free(900);
  tier.governor->set_cap(10 * kUnit);
  CHECK(tier.governor->tick());
  CHECK(tier.budget() == 10 * kUnit);
}

TEST_CASE("a memory without room for the headroom has a budget of 0, and every load is served", "[bank][governor]") {
  Governed tier(BudgetSettings{});
  tier.memory->set(MemoryReading{kGiB / 5, kGiB / 4});
  tier.tick();
  CHECK(tier.budget() == 0);
  tier.load(0, 20);
  CHECK(tier.held() == 0);
}

TEST_CASE("the host's budget is in force when the call returns, or with the next tick", "[bank][governor]") {
  Governed tier(plain(200 * kUnit));
  tier.set_free(900);
  tier.tick();
  tier.load(0, 200);
  CHECK(tier.governor->set_cap(70 * kUnit) == 70 * kUnit);
  CHECK(tier.reason() == BudgetReason::kSetBudget);
  CHECK(tier.governor->health().last_change.reason == BudgetReason::kSetBudget);
  CHECK(tier.held() == 70 * kUnit);
  tier.governor->set_cap(300 * kUnit);
  CHECK(tier.governor->tick());  // without a second in between
  CHECK(tier.budget() == 300 * kUnit);
  CHECK(tier.governor->health().cap_bytes == 300 * kUnit);
}

TEST_CASE("where the system never tells, the host's budget alone counts", "[bank][governor]") {
  Governed tier(plain());
  tier.memory->set(Error{Status::kUnsupported, "not here"});
  tier.tick();
  CHECK(tier.budget() == 64 * kUnit);
  CHECK(tier.reason() == BudgetReason::kUnsupported);
  tier.governor->set_cap(900 * kUnit);
  CHECK(tier.budget() == 900 * kUnit);
}

TEST_CASE("what the synthesizer declares and has taken changes the budget with the next reading", "[bank][governor]") {
  BudgetSettings settings = plain();
  settings.cold_fraction = 0.5;
  settings.warm_fraction = 0.75;
  settings.grow_delay = std::chrono::milliseconds(0);
  Governed tier(settings);
  tier.set_free(800);
  tier.tick();
  CHECK(tier.budget() == 336 * kUnit);  // 400 - 64
  tier.governor->set_workspace(100 * kUnit);
  tier.tick();
  CHECK(tier.budget() == 300 * kUnit);
  tier.governor->set_warm(true);
  tier.ticks(20);
  CHECK(tier.budget() == 500 * kUnit);  // 600 - 100
}

TEST_CASE("a governor needs a provider, a clock and settings that mean something", "[bank][governor]") {
  const auto device = timbre::cache::test::host(kUnit);
  timbre::cache::VoiceCache cache(*device, timbre::cache::test::with_budget(0));
  CHECK(Governor::create(cache, nullptr, {}).error().status == Status::kInvalidArgument);
  GovernorOptions options;
  options.clock = nullptr;
  CHECK_FALSE(Governor::create(cache, std::make_unique<ScriptedMemory>(), options));
  options = {};
  options.read_interval = std::chrono::milliseconds(-1);
  CHECK_FALSE(Governor::create(cache, std::make_unique<ScriptedMemory>(), options));
  options = {};
  options.budget.hysteresis = 2;
  CHECK_FALSE(Governor::create(cache, std::make_unique<ScriptedMemory>(), options));
}

namespace {

/// A reading that takes as long as the test wants.
class SlowReading {
 public:
  timbre::Result<MemoryReading> read() {
    std::unique_lock lock(mutex_);
    begun_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return over_; });
    return MemoryReading{900 * kUnit, kTotal};
  }
  void wait_for_begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_; });
  }
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
  bool over_ = false;
};

}  // namespace

TEST_CASE("nobody waits for a slow reading, and it does not overrule what was asked meanwhile", "[bank][governor]") {
  Governed tier(plain(200 * kUnit));
  tier.set_free(900);
  tier.tick();
  tier.load(0, 200);
  SlowReading slow;
  tier.memory->readings().set_source([&slow] { return slow.read(); });
  std::thread reader([&tier] { tier.tick(); });
  slow.wait_for_begin();
  tier.clock.advance(5000);
  CHECK_FALSE(tier.governor->tick());  // somebody is at it
  CHECK(tier.governor->health().readings == 1);
  CHECK(tier.governor->trim(20 * kUnit) == 20 * kUnit);
  CHECK(tier.governor->set_cap(150 * kUnit) == 150 * kUnit);
  CHECK(tier.governor->out_of_memory(10 * kUnit) == 10 * kUnit);
  tier.load(500, 5);
  slow.end();
  reader.join();
  CHECK(tier.governor->health().readings == 2);
  CHECK(tier.budget() == 140 * kUnit);
}

TEST_CASE("whatever many threads ask for at once, the last budget is the governor's, and no voice is wrong",
          "[bank][governor][stress]") {
  Governed tier(plain(64 * kUnit));
  tier.set_free(900);
  tier.tick();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  const auto run = [&](const std::function<void(std::uint64_t)>& work) {
    threads.emplace_back([&done, work] {
      for (std::uint64_t turn = 0; !done; ++turn) {
        work(turn);
        std::this_thread::sleep_for(std::chrono::microseconds(100));  // or nobody else has the cache's lock
      }
    });
  };
  run([&](std::uint64_t turn) {
    tier.clock.advance(1000);
    tier.set_free(turn % 3 == 0 ? 10 : 900);
    static_cast<void>(tier.governor->tick());
  });
  run([&](std::uint64_t) { static_cast<void>(tier.governor->tick()); });
  run([&](std::uint64_t turn) {
    static_cast<void>(turn % 4 == 0 ? tier.governor->out_of_memory(kUnit) : tier.governor->trim(2 * kUnit));
  });
  run([&](std::uint64_t turn) { static_cast<void>(tier.governor->set_cap((turn % 2 == 0 ? 64 : 8) * kUnit)); });
  run([&](std::uint64_t) {
    const GovernorHealth health = tier.governor->health();
    if (health.decision.budget_bytes > 64 * kUnit) std::abort();
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t turn = 0; turn < 2000; ++turn) {
    const std::uint64_t number = turn * 7919 % 300;
    const std::uint64_t bytes = number % 20 == 0 ? 3 * kPage : kRow;
    Lease lease = tier.cache.lookup(id_of(number));
    if (!lease) {
      auto loaded = timbre::cache::test::load(tier.cache, *tier.device, number, 1, bytes);
      if (!loaded) continue;
      lease = std::move(*loaded);
    }
    wrong += is_whole(*tier.device, lease, number) ? 0 : 1;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  tier.governor->set_cap(5 * kUnit);
  CHECK(tier.budget() == tier.governor->health().decision.budget_bytes);
  CHECK(tier.budget() <= 5 * kUnit);
  CHECK(tier.held() <= tier.budget());
}
