// SPDX-License-Identifier: MIT
//
// Every interleaving of the steps that two or three threads take on one entry's word. Each step is one atomic operation
// of EntryWord; a schedule says whose step is next, and all schedules are run from the start. What a step learns it
// keeps in its thread's own state, as the cache's code does in locals.
#include "timbre/cache/entry_word.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <vector>

using namespace timbre::cache;  // NOLINT: a test

namespace {

/// One entry and what must be true of it.
struct World {
  EntryWord word;
  int id = 1;          // what a reader compares after it has counted itself in
  int readers = 0;     // leases that are good: taken, and not yet being given back
  int freed = 0;       // how often the bytes of the present id went
  bool owned = false;  // by an evictor or mover

  void free_bytes() {
    REQUIRE(readers == 0);
    REQUIRE(freed == 0);
    ++freed;
  }
};

/// A thread: performs its next atomic step, false once it has none.
using Thread = std::function<bool(World&)>;
using Maker = std::function<Thread()>;

/// Whoever sees a retired entry unleased tries to free it, as CacheCore::free_retired() does.
void free_if_last(World& world, EntryUse after) {
  EntryUse before;
  if (after.state() != EntryState::kRetired || after.leased()) return;
  if (world.word.try_exclusive(EntryState::kRetired, before)) {
    world.free_bytes();
    world.word.store(EntryUse::make(EntryState::kEmpty));
  }
}

/// Looks the id up, uses the lease for a step, gives it back.
Maker reader(int wanted) {
  return [wanted] {
    return [wanted, step = 0, after = EntryUse{}](World& world) mutable {
      switch (step++) {
        case 0: {
          const EntryUse before = world.word.acquire();
          const bool counted = before.state() == EntryState::kVisible || before.state() == EntryState::kRetired;
          if (!counted) return false;  // overwritten by the owner's next store
          if (before.state() == EntryState::kVisible && world.id == wanted) {
            REQUIRE_FALSE(world.owned);
            ++world.readers;
          } else {
            step = 3;
          }
          return true;
        }
        case 1:
          REQUIRE(world.id == wanted);
          REQUIRE(world.freed == 0);
          REQUIRE(world.word.load().leased());
          return true;
        case 2:
          --world.readers;
          after = world.word.release();
          if (after.releases() >= EntryUse::kHalf) world.word.recede();
          step = 4;
          return true;
        case 3:
          after = world.word.undo();
          return true;
        case 4:
          free_if_last(world, after);
          return false;
        default:
          return false;
      }
    };
  };
}

/// Evicts if it can, then the entry's next life begins: another id is loaded and published, and the publisher goes.
Maker evictor() {
  return [] {
    return [step = 0, after = EntryUse{}](World& world) mutable {
      EntryUse before;
      switch (step++) {
        case 0:
          if (!world.word.try_exclusive(EntryState::kVisible, before)) return false;
          world.owned = true;
          return true;
        case 1:
          world.free_bytes();
          world.word.store(EntryUse::make(EntryState::kEmpty));
          return true;
        case 2:
          world.word.store(EntryUse::make(EntryState::kLoading));
          return true;
        case 3:
          world.id = 2;
          world.freed = 0;
          world.owned = false;
          world.word.store(EntryUse::make(EntryState::kVisible, 0, true));
          return true;
        case 4:
          after = world.word.drop_hold();
          return true;
        default:
          free_if_last(world, after);
          return false;
      }
    };
  };
}

/// Moves the bytes if nobody uses them, and shows the entry again.
Maker mover() {
  return [] {
    return [step = 0, before = EntryUse{}](World& world) mutable {
      if (step++ == 0) {
        world.owned = world.word.try_exclusive(EntryState::kVisible, before);
        return world.owned;
      }
      REQUIRE(world.readers == 0);
      world.owned = false;
      world.word.store(before);
      return false;
    };
  };
}

/// Removes the id; under the cache's lock the entry is visible then.
Maker remover() {
  return [] {
    return [step = 0, after = EntryUse{}](World& world) mutable {
      if (step++ == 0) {
        after = world.word.retire();
        return true;
      }
      free_if_last(world, after);
      return false;
    };
  };
}

/// A policy looks at the uses.
Maker counter() {
  return [] {
    return [](World& world) {
      std::uint32_t given_back = 0;
      const std::uint32_t uses = world.word.take_uses(given_back);
      REQUIRE(given_back <= uses);
      return false;
    };
  };
}

/// Runs every schedule of the threads; `finish` checks the end of each. @return how many there were.
int run_all(const std::vector<Maker>& makers, EntryUse start, const std::function<void(World&)>& finish) {
  int schedules = 0;
  // Depth first over the choices; each prefix is replayed on a new world.
  std::vector<std::size_t> choices;
  const std::function<void()> explore = [&] {
    World world;
    world.word.store(start);
    std::vector<Thread> threads;
    for (const Maker& make : makers) threads.push_back(make());
    std::vector<bool> done(threads.size(), false);
    for (const std::size_t who : choices) done[who] = !threads[who](world);
    bool any = false;
    for (std::size_t who = 0; who < threads.size(); ++who) {
      if (done[who]) continue;
      any = true;
      choices.push_back(who);
      explore();
      choices.pop_back();
    }
    if (any) return;
    ++schedules;
    finish(world);
  };
  explore();
  return schedules;
}

constexpr auto kVisible = EntryState::kVisible;

}  // namespace

TEST_CASE("whatever the order of an eviction and a lookup, the reader has the bytes or none", "[entry_word]") {
  const auto finish = [](World& world) {
    CHECK_FALSE(world.word.load().leased());
    CHECK(world.word.load().state() == kVisible);
  };
  CHECK(run_all({reader(1), evictor()}, EntryUse::make(kVisible), finish) > 20);
  CHECK(run_all({reader(2), evictor()}, EntryUse::make(kVisible), finish) > 20);
  CHECK(run_all({reader(1), reader(2), evictor()}, EntryUse::make(kVisible), finish) > 2000);
}

TEST_CASE("a removed entry is freed once, by whoever gives back the last lease", "[entry_word]") {
  const auto finish = [](World& world) {
    CHECK(world.freed == 1);
    CHECK(world.word.load().state() == EntryState::kEmpty);
  };
  CHECK(run_all({reader(1), remover()}, EntryUse::make(kVisible), finish) > 10);
  CHECK(run_all({reader(1), reader(1), remover()}, EntryUse::make(kVisible), finish) > 500);
  CHECK(run_all({reader(1), reader(7), remover()}, EntryUse::make(kVisible), finish) > 500);
}

TEST_CASE("a row moves only while nobody reads it", "[entry_word]") {
  const auto finish = [](World& world) {
    CHECK(world.word.load().state() == kVisible);
    CHECK_FALSE(world.word.load().leased());
  };
  CHECK(run_all({reader(1), mover()}, EntryUse::make(kVisible), finish) > 5);
  CHECK(run_all({reader(1), reader(1), mover()}, EntryUse::make(kVisible), finish) > 100);
}

TEST_CASE("counters near their limits step back together and lose no lease", "[entry_word]") {
  const EntryUse start = EntryUse::make(kVisible, EntryUse::kHalf - 1);
  const auto finish = [](World& world) {
    const EntryUse end = world.word.load();
    CHECK(end.state() == kVisible);
    CHECK_FALSE(end.leased());
    CHECK(end.acquires() < EntryUse::kHalf);
  };
  CHECK(run_all({reader(1), reader(1)}, start, finish) > 20);
  CHECK(run_all({reader(1), reader(1), counter()}, start, finish) > 100);
}

TEST_CASE("the publisher's lease is no use", "[entry_word]") {
  EntryWord word;
  word.store(EntryUse::make(kVisible, 0, true));
  CHECK(word.load().leased());
  word.acquire();
  word.release();
  word.drop_hold();
  std::uint32_t given_back = 0;
  CHECK(word.take_uses(given_back) == 1);
  CHECK(word.take_uses(given_back) == 0);
}
