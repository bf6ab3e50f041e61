// SPDX-License-Identifier: MIT
//
// What the policies promise beside their order: bounds on memory and on the effort of one search, ticks that wrap,
// quiet entries, entries that cannot go.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "cache/simulated_entries.hpp"
#include "cache/workloads.hpp"

namespace timbre::cache {
namespace {

constexpr PolicyKind kKinds[] = {PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kS3Fifo, PolicyKind::kGdsf,
                                 PolicyKind::kAuto};

/// A policy over entries that tests make one by one.
struct Pool {
  explicit Pool(PolicyKind kind, std::uint64_t capacity) : policy(make_policy(kind, entries)) {
    policy->set_capacity(capacity);
  }
  EntryNumber add(Admission admission = Admission::kDemand) {
    ++entries.tick;
    const auto entry = static_cast<EntryNumber>(entries.entries.size());
    entries.entries.push_back({{}, 0, entries.tick, tag_of(entry), 1});
    policy->insert(entry, admission);
    return entry;
  }
  /// The entry's number is free for another key.
  void replace(EntryNumber entry, std::uint64_t key) {
    ++entries.tick;
    entries.entries[entry] = {{}, 0, entries.tick, tag_of(key), 1};
    policy->insert(entry, Admission::kDemand);
  }
  EntryNumber evict() {
    const EntryNumber victim = policy->next_victim();
    policy->evict(victim);
    return victim;
  }

  SimulatedEntries entries;
  std::unique_ptr<Policy> policy;
};

double bytes_per_entry(PolicyKind kind, std::uint32_t count) {
  Pool pool(kind, 1000);
  std::uint64_t key = count;
  for (std::uint64_t capacity = 1000; capacity < count; capacity *= 2) {
    pool.policy->set_capacity(capacity);
    while (pool.entries.entries.size() < capacity) pool.add();
    for (std::uint64_t i = 0; i < capacity / 4; ++i) pool.replace(pool.evict(), ++key);
  }
  pool.policy->set_capacity(count);
  while (pool.entries.entries.size() < count) pool.add();
  for (std::uint32_t i = 0; i < count; ++i) pool.replace(pool.evict(), ++key);
  return static_cast<double>(pool.policy->overhead_bytes()) / count;
}

}  // namespace

TEST_CASE("an entry costs a policy few bytes", "[cache][policy][memory]") {
  // Beside the entry's node. In the short form the fixed parts of `auto` (a sampler, two shadows) weigh a byte more.
  const bool all = std::getenv("TIMBRE_TEST_FULL") != nullptr;
  if (!all) std::cout << "short form: a quarter of a million entries; TIMBRE_TEST_FULL=1 takes a million\n";
  const std::uint32_t count = all ? 1'000'000 : 250'000;
  CHECK(bytes_per_entry(PolicyKind::kS3Fifo, count) <= 5.0);
  CHECK(bytes_per_entry(PolicyKind::kLru, count) <= 8.2);
  CHECK(bytes_per_entry(PolicyKind::kLfu, count) <= 8.2);
  CHECK(bytes_per_entry(PolicyKind::kAuto, count) <= (all ? 13.0 : 14.0));
}

TEST_CASE("a miss never pays for all the hits before it", "[cache][policy]") {
  for (const PolicyKind kind : kKinds) {
    INFO("kind " << static_cast<int>(kind));
    constexpr std::uint32_t kEntries = 20'000;
    Pool pool(kind, kEntries);
    for (std::uint32_t i = 0; i < kEntries; ++i) pool.add();
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      for (int use = 0; use < 3; ++use) pool.entries.use(i);
    }
    ++pool.entries.tick;
    REQUIRE(pool.policy->next_victim() != kNoEntry);
    std::uint32_t looked_at = 0;
    for (const SimulatedEntries::Entry& entry : pool.entries.entries) looked_at += entry.uses == 0 ? 1 : 0;
    CHECK(looked_at <= 4097);
  }
}

TEST_CASE("LRU that gives up correcting still takes a cold entry", "[cache][policy][lru]") {
  Pool pool(PolicyKind::kLru, 2000);
  for (std::uint32_t i = 0; i < 2000; ++i) pool.add();
  for (std::uint32_t i = 2000; i-- > 0;) {  // used in the opposite order: the first is the hottest
    ++pool.entries.tick;
    pool.entries.use(i);
  }
  ++pool.entries.tick;
  // 256 entries are corrected, numbers 0 to 255; the coldest of them is the last.
  CHECK(pool.evict() == 255);
}

TEST_CASE("LRU keeps its order where ticks wrap", "[cache][policy][lru]") {
  SimulatedEntries entries;
  entries.tick = 0xFFFFFFF0U;
  Lru policy(entries);
  for (EntryNumber i = 0; i < 40; ++i) {
    ++entries.tick;
    entries.entries.push_back({{}, 0, entries.tick, i, 1});
    policy.insert(i, Admission::kDemand);
  }
  entries.use(3);
  for (const EntryNumber expected : {0U, 1U, 2U, 4U, 5U}) {
    REQUIRE(policy.next_victim() == expected);
    policy.evict(expected);
  }
}

TEST_CASE("LRU entries that nobody asks for stay the oldest through billions of misses", "[cache][policy][lru]") {
  Pool pool(PolicyKind::kLru, 100);
  for (int i = 0; i < 5; ++i) pool.add();
  // 0 to 4 are never used again, 5 always; failed loads move the tick by 2^32 in all.
  pool.add();
  for (int step = 0; step < 64; ++step) {
    pool.entries.tick += 1U << 26U;
    pool.entries.use(5);
    const EntryNumber visitor = pool.add();
    CHECK(pool.policy->next_victim() < 5);
    pool.policy->erase(visitor);
  }
  for (int i = 0; i < 5; ++i) CHECK(pool.evict() != 5);
  CHECK(pool.evict() == 5);
}

TEST_CASE("quiet entries go first, unless they were used", "[cache][policy][quiet]") {
  for (const PolicyKind kind : kKinds) {
    INFO("kind " << static_cast<int>(kind));
    Pool pool(kind, 20);
    std::vector<EntryNumber> demanded;
    for (int i = 0; i < 10; ++i) demanded.push_back(pool.add());
    ++pool.entries.tick;
    for (const EntryNumber entry : demanded) {
      for (int use = 0; use < 2; ++use) pool.entries.use(entry);
    }
    std::vector<EntryNumber> quiet;
    for (int i = 0; i < 10; ++i) quiet.push_back(pool.add(Admission::kQuiet));
    // Two uses each: S3-FIFO tells one use from none in its main queue only. No miss lies between.
    for (int use = 0; use < 2; ++use) pool.entries.use(quiet[4]);
    ++pool.entries.tick;
    for (int i = 0; i < 9; ++i) {
      const EntryNumber victim = pool.evict();
      CHECK(victim >= quiet.front());
      CHECK(victim != quiet[4]);
    }
  }
}

TEST_CASE("a quiet entry that comes back is not promoted, and stays remembered", "[cache][policy][quiet]") {
  Pool pool(PolicyKind::kS3Fifo, 10);
  for (int i = 0; i < 10; ++i) pool.add();
  const EntryNumber first = pool.evict();
  ++pool.entries.tick;
  pool.policy->insert(first, Admission::kQuiet);
  CHECK(pool.policy->ghost_hits() == 0);
  pool.policy->erase(first);
  pool.policy->insert(first, Admission::kDemand);
  CHECK(pool.policy->ghost_hits() == 1);
}

TEST_CASE("an entry that cannot go is proposed once, and when none can the search ends", "[cache][policy]") {
  for (const PolicyKind kind : kKinds) {
    INFO("kind " << static_cast<int>(kind));
    Pool pool(kind, 50);
    for (int i = 0; i < 50; ++i) pool.add();
    for (int round = 0; round < 2; ++round) {
      std::vector<bool> proposed(50, false);
      for (int i = 0; i < 50; ++i) {
        const EntryNumber victim = pool.policy->next_victim();
        REQUIRE(victim < 50);
        CHECK_FALSE(proposed[victim]);
        proposed[victim] = true;
        pool.policy->pass_over(victim);
        pool.entries.use(victim);  // while it is leased, it is hit again
      }
      CHECK(pool.policy->next_victim() == kNoEntry);
    }
    // An entry that was passed over can be removed and evicted as any other.
    const EntryNumber victim = pool.policy->next_victim();
    pool.policy->pass_over(victim);
    pool.policy->erase(victim);
    for (int i = 0; i < 49; ++i) pool.evict();
    CHECK(pool.policy->next_victim() == kNoEntry);
  }
}

TEST_CASE("an empty policy proposes nobody and walks over nothing", "[cache][policy]") {
  for (const PolicyKind kind : kKinds) {
    Pool pool(kind, 0);
    CHECK(pool.policy->next_victim() == kNoEntry);
    pool.policy->walk([](EntryNumber) {
      FAIL("there is no entry");
      return true;
    });
    // A pool without capacity still takes entries: somebody holds a lease on them.
    pool.add();
    CHECK(pool.evict() == 0);
  }
}

TEST_CASE("memory goes back when entries go", "[cache][policy][memory]") {
  for (const PolicyKind kind : {PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kGdsf, PolicyKind::kAuto}) {
    Pool pool(kind, 50'000);
    for (int i = 0; i < 50'000; ++i) pool.add();
    const std::uint64_t full = pool.policy->overhead_bytes();
    for (int i = 0; i < 49'000; ++i) pool.policy->erase(static_cast<EntryNumber>(i));
    CHECK(pool.policy->overhead_bytes() + std::uint64_t{49'000} * 8 <= full + 8192);
  }
}

}  // namespace timbre::cache
