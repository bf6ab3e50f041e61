// SPDX-License-Identifier: MIT
//
// The rule alone: readings and times in, budgets and reasons out. Numbers are the formula by hand.
#include "timbre/cache/budget.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string_view>
#include <vector>

using namespace timbre::cache;  // NOLINT: a test
using timbre::Status;
using timbre::device::MemoryReading;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

BudgetRule::Instant at(double seconds) {
  return BudgetRule::Instant(std::chrono::milliseconds(1'000'000 + static_cast<std::int64_t>(seconds * 1000)));
}

/// A small memory's settings: f = 1 and 64 MiB of headroom, so that targets are plain differences.
BudgetSettings plain() {
  BudgetSettings settings;
  settings.cold_fraction = settings.warm_fraction = 1;
  settings.headroom_bytes = 64 * kMiB;
  settings.headroom_fraction = 0;
  return settings;
}

/// Free so many MiB of 1 GiB.
MemoryReading mib(std::uint64_t free) { return {free * kMiB, kGiB}; }

/// A rule whose first reading has set a budget of so many MiB.
BudgetRule rule_at(std::uint64_t budget_mib, const BudgetSettings& settings = plain()) {
  BudgetRule rule(settings);
  rule.read(mib(budget_mib + 64), {}, at(0));
  REQUIRE(rule.decision().budget_bytes == budget_mib * kMiB);
  return rule;
}

}  // namespace

TEST_CASE("the target is a part of what is free or held, less the headroom", "[bank][budget]") {
  BudgetSettings settings;
  settings.workspace_bytes = 3 * kGiB;
  BudgetRule rule(settings);
  // total 80 GiB: 5 % is 4 GiB, more than 512 MiB and the workspace.
  CHECK(rule.headroom_bytes(80 * kGiB, at(0)) == 4 * kGiB);
  CHECK(rule.target_bytes({60 * kGiB, 80 * kGiB}, 10 * kGiB, at(0)) == 31 * kGiB);  // 0.5 x 70 - 4
  rule.set_warm(true);
  CHECK(rule.target_bytes({60 * kGiB, 80 * kGiB}, 10 * kGiB, at(0)) == 52 * kGiB);  // 0.8 x 70 - 4
  rule.set_workspace(6 * kGiB);
  CHECK(rule.target_bytes({60 * kGiB, 80 * kGiB}, 10 * kGiB, at(0)) == 50 * kGiB);
  rule.set_workspace(0);
  CHECK(rule.headroom_bytes(4 * kGiB, at(0)) == 512 * kMiB);
  CHECK(rule.target_bytes({3 * kGiB, 4 * kGiB}, kGiB / 2, at(0)) ==
        static_cast<std::uint64_t>(0.8 * 3.5 * kGiB) - kGiB / 2);
  // What is held and not resident does not make more than the whole.
  CHECK(rule.target_bytes({4 * kGiB, 4 * kGiB}, 3 * kGiB, at(0)) ==
        static_cast<std::uint64_t>(0.8 * 4 * kGiB) - kGiB / 2);
  CHECK(rule.target_bytes({kGiB, 4 * kGiB}, UINT64_MAX, at(0)) ==
        static_cast<std::uint64_t>(0.8 * 4 * kGiB) - kGiB / 2);
  CHECK(rule.target_bytes({kGiB / 2, 4 * kGiB}, 0, at(0)) == 0);
  rule.set_cap(kGiB, at(0));
  CHECK(rule.target_bytes({60 * kGiB, 80 * kGiB}, 10 * kGiB, at(0)) == kGiB);
}

TEST_CASE("the first reading sets the budget at once, and before it there is a small one", "[bank][budget]") {
  BudgetRule rule(plain());
  CHECK(rule.decision().budget_bytes == 64 * kMiB);
  CHECK(rule.decision().reason == BudgetReason::kBlind);
  const BudgetDecision first = rule.read(mib(564), {}, at(0));
  CHECK(first.budget_bytes == 500 * kMiB);
  CHECK(first.reason == BudgetReason::kFreeMemory);
  BudgetSettings capped = plain();
  capped.cap_bytes = kMiB;
  CHECK(BudgetRule(capped).decision().budget_bytes == kMiB);
  BudgetRule small(capped);
  CHECK(small.read(mib(564), {}, at(0)).reason == BudgetReason::kCap);
  CHECK(small.decision().budget_bytes == kMiB);
}

TEST_CASE("a small difference changes nothing, a larger one does at once when it is downwards", "[bank][budget]") {
  BudgetRule rule = rule_at(500);
  // The band is a sixteenth of the budget, but at most a quarter of the headroom: 16 MiB.
  CHECK(rule.read(mib(64 + 485), {}, at(1)).reason == BudgetReason::kHysteresis);
  CHECK(rule.decision().budget_bytes == 500 * kMiB);
  CHECK(rule.read(mib(64 + 515), {}, at(2)).reason == BudgetReason::kHysteresis);
  CHECK(rule.read(mib(64 + 483), {}, at(3)).reason == BudgetReason::kFreeMemory);
  CHECK(rule.decision().budget_bytes == 483 * kMiB);
  BudgetRule small = rule_at(100);  // 6.25 MiB
  CHECK(small.read(mib(64 + 94), {}, at(1)).budget_bytes == 100 * kMiB);
  CHECK(small.read(mib(64 + 93), {}, at(1)).budget_bytes == 93 * kMiB);
}

TEST_CASE("small changes that add up are followed", "[bank][budget]") {
  BudgetRule rule = rule_at(500);
  for (std::uint64_t mebibytes = 500; mebibytes > 300; --mebibytes) {
    rule.read(mib(64 + mebibytes), {}, at(static_cast<double>(500 - mebibytes)));
    CHECK(rule.decision().budget_bytes <= (mebibytes + 16) * kMiB);
    CHECK(rule.decision().budget_bytes >= mebibytes * kMiB);
  }
}

TEST_CASE("growth waits for 30 seconds of readings that allow it, then takes a step each second", "[bank][budget]") {
  BudgetRule rule = rule_at(100);
  for (int second = 1; second <= 30; ++second) {
    CHECK(rule.read(mib(500), {}, at(second)).reason == BudgetReason::kGrowDelay);
    CHECK(rule.decision().budget_bytes == 100 * kMiB);
  }
  // A sixty-fourth of 1 GiB is 16 MiB.
  CHECK(rule.read(mib(500), {}, at(31)).reason == BudgetReason::kGrowing);
  CHECK(rule.decision().budget_bytes == 116 * kMiB);
  CHECK(rule.read(mib(500), {}, at(31.5)).budget_bytes == 116 * kMiB);  // not twice a second
  CHECK(rule.read(mib(500), {}, at(32)).budget_bytes == 132 * kMiB);
  for (int second = 33; second <= 52; ++second) rule.read(mib(500), {}, at(second));
  CHECK(rule.decision().budget_bytes == 436 * kMiB);  // all the way, the last step being a part
  CHECK(rule.decision().reason == BudgetReason::kFreeMemory);
  CHECK(rule.read(mib(515), {}, at(59)).reason == BudgetReason::kHysteresis);
  CHECK(rule.read(mib(600), {}, at(60)).reason == BudgetReason::kGrowDelay);  // and the next growth waits again
}

TEST_CASE("one reading that does not allow growth starts the wait again", "[bank][budget]") {
  BudgetRule rule = rule_at(100);
  const auto wait = [&rule](double from, double to) {
    for (double second = from; second <= to; ++second) {
      CHECK(rule.read(mib(500), {}, at(second)).budget_bytes == 100 * kMiB);
    }
  };
  wait(1, 29);
  SECTION("less is free") { rule.read(mib(164), {}, at(30)); }
  SECTION("it is impossible") { rule.read({2 * kGiB, kGiB}, {}, at(30)); }
  SECTION("it is sudden") { rule.read({kGiB, 8 * kGiB}, {}, at(30)); }
  SECTION("it fails") { rule.fail(Status::kIo, at(30)); }
  SECTION("somebody was short of memory") { rule.lower(100 * kMiB, BudgetReason::kOutOfMemory); }
  wait(31, 60);
  CHECK(rule.read(mib(500), {}, at(61)).budget_bytes == 116 * kMiB);
}

TEST_CASE("a fall in the middle of growing takes all of it back at once", "[bank][budget]") {
  BudgetRule rule = rule_at(100);
  for (int second = 1; second <= 40; ++second) rule.read(mib(500), {}, at(second));
  CHECK(rule.decision().budget_bytes == 260 * kMiB);
  CHECK(rule.read(mib(100), {40 * kMiB, 0}, at(41)).budget_bytes == 76 * kMiB);
  CHECK(rule.read(mib(500), {}, at(42)).reason == BudgetReason::kGrowDelay);
}

TEST_CASE("below the low water a small difference counts too, and the budget makes up for what is missing",
          "[bank][budget]") {
  BudgetSettings settings = plain();
  settings.headroom_bytes = 200 * kMiB;
  settings.low_water_bytes = 90 * kMiB;
  BudgetRule rule(settings);
  rule.read(mib(700), {}, at(0));
  CHECK(rule.decision().budget_bytes == 500 * kMiB);
  // 410 MiB held, 50 MiB free: the formula says 260, the low water 410 - 40.
  CHECK(rule.read(mib(50), {410 * kMiB, 0}, at(1)).reason == BudgetReason::kPressure);
  CHECK(rule.decision().budget_bytes == 260 * kMiB);
  // Without the rest of the headroom the low water is what counts.
  settings.headroom_bytes = 0;
  CHECK(BudgetRule(settings).target_bytes(mib(50), 410 * kMiB, at(0)) == 460 * kMiB);  // at most half of the headroom
  settings.headroom_bytes = 180 * kMiB;
  BudgetRule tight(settings);
  CHECK(tight.target_bytes(mib(89), 410 * kMiB, at(0)) == 319 * kMiB);
  tight.read(mib(500), {0, 0}, at(0));
  CHECK(tight.decision().budget_bytes == 320 * kMiB);
  CHECK(tight.read(mib(91), {408 * kMiB, 0}, at(1)).reason == BudgetReason::kHysteresis);
  CHECK(tight.read(mib(89), {410 * kMiB, 0}, at(2)).reason == BudgetReason::kPressure);
  CHECK(tight.decision().budget_bytes == 319 * kMiB);
}

TEST_CASE("the budget does not grow into the high water", "[bank][budget]") {
  BudgetSettings settings = plain();
  settings.headroom_bytes = 100 * kMiB;
  settings.high_water_bytes = 80 * kMiB;
  settings.grow_delay = std::chrono::milliseconds(0);
  BudgetRule rule(settings);
  rule.read(mib(200), {}, at(0));
  CHECK(rule.decision().budget_bytes == 100 * kMiB);
  CHECK(rule.read(mib(79), {300 * kMiB, 0}, at(1)).reason == BudgetReason::kHighWater);
  CHECK(rule.read(mib(80), {300 * kMiB, 0}, at(2)).reason == BudgetReason::kGrowing);
}

TEST_CASE("a reading leaves the budget at what leases hold", "[bank][budget]") {
  BudgetRule rule = rule_at(500);
  const BudgetDecision floor = rule.read(mib(20), {400 * kMiB, 390 * kMiB}, at(1));
  CHECK(floor.budget_bytes == 390 * kMiB);
  CHECK(floor.reason == BudgetReason::kLeases);
  CHECK(floor.at_floor);
  const BudgetDecision after = rule.read(mib(20), {390 * kMiB, 10 * kMiB}, at(2));
  CHECK(after.budget_bytes == 346 * kMiB);
  CHECK_FALSE(after.at_floor);
  // Leases are no reason to grow, and the cap is the host's.
  CHECK(rule.read(mib(20), {420 * kMiB, 420 * kMiB}, at(3)).budget_bytes == 346 * kMiB);
  CHECK(rule.set_cap(100 * kMiB, at(4)).budget_bytes == 100 * kMiB);
  CHECK(rule.read(mib(20), {420 * kMiB, 420 * kMiB}, at(5)).budget_bytes == 100 * kMiB);
}

TEST_CASE("llama.cpp #19437, #17536: readings that cannot be change no budget for the larger, and never wrap around",
          "[bank][budget][public]") {
  struct Case {
    const char* what;
    MemoryReading reading;
  };
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Case> cases = {
      {"nothing at all", {0, 0}},
      {"free without a total", {kGiB, 0}},
      {"free > total", {kGiB + 1, kGiB}},
      {"free is a negative number", {kMax - 4095, kGiB}},
      {"17592186036877 MiB", {std::uint64_t{17'592'186'036'877} * kMiB, 32 * kGiB}},
      {"both are negative numbers", {kMax - 1, kMax}},
      {"a total of 2^53 bytes", {kGiB, std::uint64_t{1} << 53U}},
      {"a total of one byte", {2, 1}},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    BudgetRule first(plain());
    CHECK(first.read(one.reading, {3 * kMiB, 0}, at(0)).budget_bytes == 64 * kMiB);
    CHECK(first.decision().reason == BudgetReason::kImpossible);
    BudgetRule later = rule_at(500);
    for (int second = 1; second < 100; ++second) {
      CHECK(later.read(one.reading, {kMax, kMax}, at(second)).budget_bytes == 500 * kMiB);
      CHECK(later.decision().reason == BudgetReason::kImpossible);
    }
    CHECK(later.target_bytes(one.reading, kMax, at(100)) <= one.reading.total_bytes);
  }
}

TEST_CASE("an impossible reading with a total that is likely is an upper bound", "[bank][budget]") {
  BudgetRule rule = rule_at(900);
  CHECK(rule.read({800 * kMiB, 700 * kMiB}, {}, at(1)).budget_bytes == 636 * kMiB);
  CHECK(rule.decision().reason == BudgetReason::kImpossible);
}

TEST_CASE("what is too sudden counts when it is said twice", "[bank][budget]") {
  BudgetRule rule = rule_at(500);
  SECTION("nothing is free") {
    CHECK(rule.read(mib(0), {400 * kMiB, 0}, at(1)).reason == BudgetReason::kUnconfirmed);
    CHECK(rule.decision().budget_bytes == 500 * kMiB);
    CHECK(rule.read(mib(0), {400 * kMiB, 0}, at(2)).reason == BudgetReason::kPressure);
    CHECK(rule.decision().budget_bytes == 336 * kMiB);
  }
  SECTION("nothing is free, for one reading") {
    rule.read(mib(0), {400 * kMiB, 0}, at(1));
    CHECK(rule.read(mib(564), {400 * kMiB, 0}, at(2)).budget_bytes == 500 * kMiB);
    CHECK(rule.read(mib(0), {400 * kMiB, 0}, at(3)).reason == BudgetReason::kUnconfirmed);
  }
  SECTION("almost nothing is free") {
    CHECK(rule.read({4096, kGiB}, {400 * kMiB, 0}, at(1)).reason == BudgetReason::kPressure);
  }
  SECTION("the memory is half as large") {
    CHECK(rule.read({100 * kMiB, kGiB / 2}, {}, at(1)).reason == BudgetReason::kUnconfirmed);
    CHECK(rule.read({100 * kMiB, kGiB / 4}, {}, at(2)).reason == BudgetReason::kUnconfirmed);  // says another thing
    CHECK(rule.read({100 * kMiB, kGiB / 4}, {}, at(3)).budget_bytes == 36 * kMiB);
  }
  SECTION("the memory is half as large, and then nothing of it is free") {
    CHECK(rule.read({100 * kMiB, kGiB / 2}, {}, at(1)).reason == BudgetReason::kUnconfirmed);
    CHECK(rule.read({0, kGiB / 2}, {}, at(2)).reason == BudgetReason::kUnconfirmed);
    CHECK(rule.read({0, kGiB / 2}, {}, at(3)).reason == BudgetReason::kPressure);
  }
  SECTION("the memory is twice as large") {
    CHECK(rule.read({2 * kGiB, 2 * kGiB}, {}, at(1)).reason == BudgetReason::kUnconfirmed);
    CHECK(rule.read({2 * kGiB, 2 * kGiB}, {}, at(2)).reason == BudgetReason::kGrowDelay);
  }
}

TEST_CASE("without a reading the budget stays, and without any the cap alone counts", "[bank][budget]") {
  BudgetRule rule = rule_at(500);
  CHECK(rule.fail(Status::kIo, at(1)).reason == BudgetReason::kReadingFailed);
  CHECK(rule.decision().budget_bytes == 500 * kMiB);

  BudgetRule blind(plain());
  CHECK(blind.fail(Status::kUnsupported, at(0)).budget_bytes == 64 * kMiB);
  CHECK(blind.set_cap(10 * kGiB, at(1)).budget_bytes == 10 * kGiB);
  CHECK(blind.decision().reason == BudgetReason::kUnsupported);
  // A trim counts there, too, and is made up for as slowly.
  blind.lower(kGiB, BudgetReason::kTrim);
  CHECK(blind.fail(Status::kUnsupported, at(2)).reason == BudgetReason::kGrowDelay);
  CHECK(blind.fail(Status::kUnsupported, at(32)).budget_bytes == kGiB + 160 * kMiB);
  CHECK(blind.set_cap(kMiB, at(33)).budget_bytes == kMiB);
  CHECK(blind.set_cap(BudgetSettings::kNoCap, at(34)).budget_bytes == 64 * kMiB);
}

TEST_CASE("the host's cap is in force at once downwards, and with the next reading upwards", "[bank][budget]") {
  BudgetRule rule = rule_at(500);
  CHECK(rule.set_cap(300 * kMiB, at(1)).reason == BudgetReason::kSetBudget);
  CHECK(rule.decision().budget_bytes == 300 * kMiB);
  CHECK(rule.read(mib(564), {}, at(2)).reason == BudgetReason::kCap);
  CHECK(rule.set_cap(400 * kMiB, at(3)).budget_bytes == 300 * kMiB);
  CHECK(rule.read(mib(564), {}, at(4)).budget_bytes == 400 * kMiB);
  rule.set_cap(600 * kMiB, at(5));
  CHECK(rule.read(mib(564), {}, at(6)).budget_bytes == 500 * kMiB);  // the formula still counts
  CHECK(rule.read(mib(764), {}, at(7)).reason == BudgetReason::kGrowDelay);
  CHECK(rule.set_cap(0, at(8)).budget_bytes == 0);
  CHECK(rule.read(mib(764), {}, at(9)).reason == BudgetReason::kCap);
}

TEST_CASE("a trim just below the cap is made up for", "[bank][budget]") {
  BudgetSettings settings = plain();
  settings.cap_bytes = 200 * kMiB;
  BudgetRule rule = rule_at(200, settings);
  rule.lower(199 * kMiB, BudgetReason::kTrim);
  for (int second = 1; second <= 31; ++second) rule.read(mib(500), {}, at(second));
  CHECK(rule.decision().budget_bytes == 200 * kMiB);
  CHECK(rule.lower(300 * kMiB, BudgetReason::kTrim).budget_bytes == 200 * kMiB);  // lower only
  CHECK(rule.decision().reason == BudgetReason::kGrowing);
  BudgetRule fresh(plain());
  fresh.lower(300 * kMiB, BudgetReason::kTrim);
  CHECK(fresh.read(mib(564), {}, at(0)).budget_bytes == 500 * kMiB);
}

TEST_CASE("what an allocation lacked is headroom for ten minutes", "[bank][budget]") {
  BudgetRule rule(plain());
  rule.remember_shortage(300 * kMiB, at(0));
  rule.remember_shortage(100 * kMiB, at(60));  // the larger one counts
  CHECK(rule.headroom_bytes(kGiB, at(659)) == 300 * kMiB);
  CHECK(rule.headroom_bytes(kGiB, at(661)) == 64 * kMiB);
  rule.remember_shortage(100 * kMiB, at(700));  // and is forgotten after that
  CHECK(rule.headroom_bytes(kGiB, at(701)) == 100 * kMiB);
  CHECK(rule.target_bytes(mib(500), 0, at(701)) == 400 * kMiB);
  rule.remember_shortage(std::numeric_limits<std::uint64_t>::max(), at(702));
  CHECK(rule.target_bytes(mib(500), 0, at(703)) == 0);
}

TEST_CASE("settings that mean nothing are refused by name", "[bank][budget]") {
  CHECK(check(BudgetSettings()));
  const auto message = [](auto change) {
    BudgetSettings settings;
    change(settings);
    const auto checked = check(settings);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().status == Status::kInvalidArgument);
    return checked.error().message;
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(message([](auto& s) { s.cold_fraction = -0.1; }), Contains("cold_fraction"));
  CHECK_THAT(message([](auto& s) { s.warm_fraction = 1.5; }), Contains("warm_fraction"));
  CHECK_THAT(message([](auto& s) { s.headroom_fraction = NAN; }), Contains("headroom_fraction"));
  CHECK_THAT(message([](auto& s) { s.hysteresis = INFINITY; }), Contains("hysteresis"));
  CHECK_THAT(message([](auto& s) { s.grow_fraction = 2; }), Contains("grow_fraction"));
  CHECK_THAT(message([](auto& s) { s.grow_delay = std::chrono::milliseconds(-1); }), Contains("time"));
  CHECK_THAT(message([](auto& s) { s.grow_interval = std::chrono::milliseconds(-1); }), Contains("time"));
  CHECK_THAT(message([](auto& s) { s.shortage = std::chrono::seconds(-1); }), Contains("time"));
}

TEST_CASE("every reason has a name of its own", "[bank][budget]") {
  std::set<std::string_view> names;
  for (std::size_t reason = 0; reason < kBudgetReasonCount; ++reason) {
    names.insert(name_of(static_cast<BudgetReason>(reason)));
  }
  CHECK(names.size() == kBudgetReasonCount);
  CHECK(names.count("") == 0);
  CHECK(name_of(BudgetReason::kBlind) == "no reading yet");
  CHECK(name_of(BudgetReason::kLeases) == "leases");
  CHECK(name_of(BudgetReason::kGrowing) == "growing");
  CHECK(name_of(BudgetReason::kOutOfMemory) == "out of memory");
}

namespace {

/// Any number of bytes, of any size, and now and then one that cannot be.
class AnyReadings {
 public:
  explicit AnyReadings(std::uint32_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::uint64_t bytes() { return random_() >> below(64); }
  MemoryReading reading(std::uint64_t total) {
    const std::uint64_t kind = below(20);
    if (kind == 0) return {bytes(), bytes()};
    if (kind == 1) return {0, total};
    if (kind == 2) total = 1 + total / (1 + below(4));
    return {below(total + 1), total};
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("whatever is read, the budget keeps to the cap, the total, the floor and the rate", "[bank][budget]") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    AnyReadings any(seed);
    BudgetSettings settings;
    settings.cap_bytes = any.below(2) == 0 ? BudgetSettings::kNoCap : any.bytes();
    settings.headroom_bytes = any.bytes() % kGiB;
    settings.grow_delay = std::chrono::milliseconds(any.below(5000));
    BudgetRule rule(settings);
    const std::uint64_t total = 1 + any.bytes() % (512 * kGiB);
    double second = 0;
    for (int step = 0; step < 300; ++step) {
      INFO("seed " << seed << ", step " << step);
      const std::uint64_t before = rule.decision().budget_bytes;
      second += static_cast<double>(any.below(3000)) / 1000;
      const std::uint64_t kind = any.below(40);
      if (kind == 0) rule.set_cap(any.bytes(), at(second));
      if (kind == 1) CHECK(rule.fail(Status::kIo, at(second)).budget_bytes == before);
      if (kind == 2) CHECK(rule.lower(any.bytes(), BudgetReason::kTrim).budget_bytes <= before);
      if (kind == 3) rule.remember_shortage(any.bytes(), at(second));
      if (kind == 4) rule.set_warm(any.below(2) == 0);
      CHECK(rule.decision().budget_bytes <= rule.cap_bytes());
      if (kind < 5) continue;
      const MemoryReading reading = any.reading(total);
      const std::uint64_t held = any.below(10) == 0 ? any.bytes() : any.below(before + 1);
      const BudgetUsage usage{held, any.below(held + 1)};
      const BudgetDecision decision = rule.read(reading, usage, at(second));
      CHECK(decision.budget_bytes <= rule.cap_bytes());
      const bool believed =
          decision.reason != BudgetReason::kImpossible && decision.reason != BudgetReason::kUnconfirmed;
      if (!believed) CHECK(decision.budget_bytes <= before);
      if (!believed) continue;
      CHECK(decision.budget_bytes <= reading.total_bytes);
      const std::uint64_t target = rule.target_bytes(reading, held, at(second));
      CHECK(decision.budget_bytes >= std::min({before, target}));
      if (decision.budget_bytes < before) {
        CHECK(decision.budget_bytes >= std::min({usage.leased_bytes, before, reading.total_bytes}));
        CHECK((decision.budget_bytes == target || decision.at_floor));
      }
      if (decision.reason == BudgetReason::kGrowing) {
        CHECK(decision.budget_bytes - before <= std::max(16 * kMiB, reading.total_bytes / 64));
      }
      if (decision.budget_bytes > before) CHECK(decision.budget_bytes <= target);
    }
  }
}
