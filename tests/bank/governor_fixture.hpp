// SPDX-License-Identifier: MIT
//
// A cache on RAM, a governor on readings that a test tells, and a clock that a test turns.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "bank/governor.hpp"
#include "bank/scripted_memory.hpp"
#include "cache/cache_fixture.hpp"

namespace timbre::bank::test {

// The memory of most tests has 1,024 units; a unit is a page of the device, and a voice. A step of growth is 16 units.
inline constexpr std::uint64_t kUnit = cache::test::kPage;
inline constexpr std::uint64_t kTotal = 1024 * kUnit;

/// Such a memory's settings: f = 1 and 64 units of headroom, so that targets are plain differences.
inline cache::BudgetSettings plain(std::uint64_t cap_bytes = cache::BudgetSettings::kNoCap,
                                   std::uint64_t unit = kUnit) {
  cache::BudgetSettings settings;
  settings.cap_bytes = cap_bytes;
  settings.cold_fraction = settings.warm_fraction = 1;
  settings.headroom_bytes = settings.blind_bytes = 64 * unit;
  settings.headroom_fraction = 0;
  settings.low_water_bytes = 256 * unit;
  settings.high_water_bytes = 512 * unit;
  settings.grow_bytes = 16 * unit;
  return settings;
}

class Clock {
 public:
  [[nodiscard]] std::function<cache::BudgetRule::Instant()> function() {
    return [this] { return cache::BudgetRule::Instant(std::chrono::milliseconds(milliseconds_.load())); };
  }
  void advance(std::int64_t milliseconds) { milliseconds_ += milliseconds; }

 private:
  std::atomic<std::int64_t> milliseconds_{1'000'000};
};

/// Reads as told by `memory`, or by a provider of the test's.
class Governed {
 public:
  explicit Governed(const cache::BudgetSettings& settings, std::unique_ptr<MemoryProvider> provider = nullptr,
                    std::unique_ptr<device::Device> on = nullptr)
      : device(on ? std::move(on) : cache::test::host(std::uint64_t{1} << 34U)),
        cache(*device, cache::test::with_budget(0)) {
    if (!provider) {
      auto scripted = std::make_unique<ScriptedMemory>();
      memory = scripted.get();
      provider = std::move(scripted);
    }
    GovernorOptions options;
    options.budget = settings;
    options.clock = clock.function();
    auto made = Governor::create(cache, std::move(provider), std::move(options));
    REQUIRE(made);
    governor = std::move(*made);
  }

  /// So many of 1,024 units are free from now on.
  void set_free(std::uint64_t units) { memory->set(device::MemoryReading{units * kUnit, kTotal}); }

  /// A second goes by, and there is a reading. @return the budget then.
  std::uint64_t tick() {
    clock.advance(1000);
    CHECK(governor->tick());
    return budget();
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick();
  }

  /// Loads voices of a unit each, numbered from `first`.
  void load(std::uint64_t first, std::uint64_t count, std::uint64_t unit = kUnit) {
    for (std::uint64_t number = first; number < first + count; ++number) {
      REQUIRE(cache::test::load(cache, *device, number, 1, unit));
    }
  }

  /// What the cache was told last, not what the governor thinks.
  std::uint64_t budget() { return cache.stats().budget_bytes; }
  std::uint64_t held() { return cache.stats().held_bytes; }
  cache::BudgetReason reason() { return governor->health().decision.reason; }

  Clock clock;
  std::unique_ptr<device::Device> device;
  cache::VoiceCache cache;
  ScriptedMemory* memory = nullptr;
  std::unique_ptr<Governor> governor;
};

}  // namespace timbre::bank::test
