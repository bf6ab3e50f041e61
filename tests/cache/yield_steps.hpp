// SPDX-License-Identifier: MIT
//
// Included before the cache: between the steps of its protocol threads now give way, by seeded dice of their own.
#pragma once

#include <cstdint>
#include <thread>

namespace timbre::cache::test {

struct Dice {
  std::uint64_t state = 0;  // 0: never

  std::uint64_t roll() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 33U;
  }
};

inline thread_local Dice schedule_dice;

inline void maybe_yield() {
  if (schedule_dice.state != 0 && schedule_dice.roll() % 16 == 0) std::this_thread::yield();
}

}  // namespace timbre::cache::test

#define TIMBRE_CACHE_STEP() timbre::cache::test::maybe_yield()
