// SPDX-License-Identifier: MIT
//
// The ghost's table and the sampler of hits, which the models take for exact.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "cache/simulated_entries.hpp"
#include "timbre/cache/ghost_table.hpp"
#include "timbre/cache/hit_sampler.hpp"

namespace timbre::cache {

TEST_CASE("the ghost remembers what was evicted last, nearly all of it and hardly more", "[cache][ghost]") {
  constexpr std::uint32_t kCapacity = 20'000;
  GhostTable ghost;
  ghost.set_capacity(kCapacity);
  for (std::uint32_t i = 0; i < 100'000; ++i) ghost.remember(tag_of(i), 1, kCapacity);
  CHECK(ghost.memory_bytes() <= kCapacity * 5 + 16'384);
  std::uint32_t strangers = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) strangers += ghost.forget(tag_of(1'000'000 + i)) ? 1 : 0;
  CHECK(strangers <= 30);  // 100,000 x 16 / 65,536 = 24 expected
  std::uint32_t old = 0;
  for (std::uint32_t i = 0; i < 100'000 - kCapacity * 11 / 10; ++i) old += ghost.forget(tag_of(i)) ? 1 : 0;
  CHECK(old <= 30);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 100'000 - kCapacity; i < 100'000; ++i) kept += ghost.forget(tag_of(i)) ? 1 : 0;
  CHECK(kept >= kCapacity * 93 / 100);
  CHECK(kept <= kCapacity);
}

TEST_CASE("the ghost counts weights", "[cache][ghost]") {
  GhostTable ghost;
  ghost.set_capacity(1000);
  for (std::uint32_t i = 0; i < 30; ++i) ghost.remember(i, 100, 10);
  for (std::uint32_t i = 0; i < 20; ++i) CHECK_FALSE(ghost.forget(i));
  for (std::uint32_t i = 20; i < 30; ++i) CHECK(ghost.forget(i));
  ghost.remember(99, 1001, 10);
  CHECK_FALSE(ghost.forget(99));
}

TEST_CASE("what a ghost gave back makes room for another", "[cache][ghost]") {
  GhostTable ghost;
  ghost.set_capacity(10);
  for (std::uint32_t i = 0; i < 10; ++i) ghost.remember(i, 1, 10);
  CHECK(ghost.forget(5));
  ghost.remember(10, 1, 10);
  CHECK(ghost.forget(0));
}

TEST_CASE("a ghost that grows forgets nothing", "[cache][ghost]") {
  GhostTable ghost;
  ghost.set_capacity(1'000'000);
  for (std::uint32_t i = 0; i < 1000; ++i) ghost.remember(tag_of(i), 1, 1000);
  ghost.remember(tag_of(5000), 1, 100'000);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) kept += ghost.forget(tag_of(i)) ? 1 : 0;
  CHECK(kept >= 930);
}

TEST_CASE("a smaller capacity forgets the oldest at once", "[cache][ghost]") {
  GhostTable ghost;
  ghost.set_capacity(100);
  for (std::uint32_t i = 0; i < 100; ++i) ghost.remember(i, 1, 100);
  ghost.set_capacity(10);
  for (std::uint32_t i = 0; i < 90; ++i) CHECK_FALSE(ghost.forget(i));
  CHECK(ghost.forget(95));
}

TEST_CASE("the sampler takes a share of the tags, all hits of each", "[cache][sampler]") {
  HitSampler sampler;
  sampler.sample_one_in(8);
  std::set<std::uint32_t> sampled;
  std::uint32_t hits = 0;
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const std::uint32_t tag = tag_of(i % 4000);
    if (sampler.samples(tag)) sampled.insert(tag);
    sampler.record(tag);
  }
  std::uint32_t taken = 0;
  sampler.drain(HitSampler::kSlots, [&](std::uint32_t tag) {
    hits += sampled.count(tag) != 0 ? 1 : 0;
    ++taken;
  });
  CHECK(sampled.size() > 400);
  CHECK(sampled.size() < 600);
  CHECK(taken == 2 * sampled.size());
  CHECK(hits == taken);
}

TEST_CASE("a full sampler loses hits and goes on when it is read", "[cache][sampler]") {
  HitSampler sampler;
  for (std::uint32_t i = 0; i < 3 * HitSampler::kSlots; ++i) sampler.record(i);
  CHECK_FALSE(sampler.put(1));
  std::uint32_t next = 0;
  const auto take = [&](std::uint32_t tag) { CHECK(tag == next++); };
  sampler.drain(100, take);
  CHECK(next == 100);
  for (int i = 0; i < 30; ++i) sampler.drain(100, take);
  CHECK(next == HitSampler::kSlots);
  sampler.record(next);
  sampler.drain(100, take);
  CHECK(next == HitSampler::kSlots + 1);
}

TEST_CASE("threads leave hits while they are taken", "[cache][sampler][thread]") {
  HitSampler sampler;
  constexpr std::uint32_t kThreads = 12;  // more than stripes
  constexpr std::uint32_t kHits = 20'000;
  std::atomic<std::uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kHits; ++i) sampler.record(t << 24U | i);
      --running;
    });
  }
  std::uint64_t taken = 0;
  bool sound = true;
  const auto take = [&](std::uint32_t tag) {
    sound = sound && tag >> 24U < kThreads && (tag & 0xFFFFFFU) < kHits;
    ++taken;
  };
  while (running.load() != 0) sampler.drain(256, take);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 100; ++i) sampler.drain(256, take);
  CHECK(sound);
  CHECK(taken > 0);
  CHECK(taken <= std::uint64_t{kThreads} * kHits);
}

}  // namespace timbre::cache
