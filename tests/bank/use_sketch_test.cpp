// SPDX-License-Identifier: MIT
#include "bank/use_sketch.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "bank_fixture.hpp"

using timbre::bank::UseSketch;
using timbre::bank::test::Dice;
using timbre::bank::test::id_of;

TEST_CASE("the most used ids come first", "[bank][sketch]") {
  UseSketch sketch(1000);
  for (std::uint64_t round = 0; round < 100; ++round) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      if (round % (1 + i / 4) == 0) sketch.count(id_of(i));  // ids 0..3 always, 4..7 every second time, ...
    }
  }
  std::vector<std::string> top = sketch.top(8);
  REQUIRE(top.size() == 8);
  std::sort(top.begin(), top.begin() + 4);
  std::sort(top.begin() + 4, top.end());
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(top[i] == id_of(i));
  CHECK(sketch.top(1000).size() == UseSketch::kTop);
  CHECK(sketch.top(0).empty());
}

TEST_CASE("what was used long ago fades", "[bank][sketch]") {
  UseSketch sketch(256);  // 1,024 counters: halved as often
  for (int i = 0; i < 500; ++i) sketch.count("old");
  Dice dice{5};
  for (int i = 0; i < 20'000; ++i) sketch.count(dice.roll() % 10 < 2 ? std::string("new") : id_of(dice.roll() % 5000));
  CHECK(sketch.top(1) == std::vector<std::string>{"new"});
  CHECK(sketch.estimate("old") <= 3);
  CHECK(sketch.estimate("new") >= 10);
}

TEST_CASE("one use in sixteen is counted, whatever the order of requests", "[bank][sketch]") {
  UseSketch sketch(1 << 16U);
  for (int round = 0; round < 100; ++round) {
    for (std::uint64_t i = 0; i < 16; ++i) sketch.use(id_of(i));  // a period of 16
  }
  const std::vector<std::string> top = sketch.top(100);
  CHECK(top.size() >= 14);
  std::uint32_t counted = 0;
  for (std::uint64_t i = 0; i < 16; ++i) counted += sketch.estimate(id_of(i));
  CHECK(counted >= 60);
  CHECK(counted <= 140);  // 100 expected; some saturate at 15
}
