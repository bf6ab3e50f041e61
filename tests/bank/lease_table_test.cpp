// SPDX-License-Identifier: MIT
#include "bank/lease_table.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>

#include "bank_fixture.hpp"
#include "cache/short_form.hpp"

using namespace timbre::bank;        // NOLINT: a test
using namespace timbre::bank::test;  // NOLINT: a test
using timbre::Status;

TEST_CASE("a second release is an error and changes nothing", "[bank][lease]") {  // public failure 8
  Bench bench;
  bench.keep(1);
  bench.keep(2);
  VoiceBank& bank = bench.make();
  LeaseTable table;
  auto first = bank.get(id_of(1));
  const auto token = table.put(*first);
  REQUIRE(token);
  CHECK(!*first);
  CHECK(table.find(*token)->id() == id_of(1));
  CHECK(bank.stats().device.leases == 1);
  REQUIRE(table.take(*token));
  CHECK(bank.stats().device.leases == 0);

  auto second = bank.get(id_of(2));
  const auto next = table.put(*second);  // the same slot
  REQUIRE(next);
  CHECK(*next != *token);
  for (const LeaseTable::Token bad :
       {*token, *token + 1, LeaseTable::Token{0}, ~LeaseTable::Token{0}, *next ^ 0x800000}) {
    CHECK(table.take(bad).error().status == Status::kInvalidArgument);
    CHECK(table.find(bad) == nullptr);
  }
  CHECK(bank.stats().device.leases == 1);
  CHECK(table.find(*next)->id() == id_of(2));
  CHECK(table.size() == 1);
  REQUIRE(table.take(*next));
}

TEST_CASE("tokens of many leases find them, also while the table grows", "[bank][lease]") {
  Bench bench;
  for (std::uint64_t i = 0; i < 50; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  LeaseTable table;
  std::vector<LeaseTable::Token> tokens;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    auto voice = bank.get(id_of(i % 50));
    tokens.push_back(*table.put(*voice));
  }
  CHECK(table.size() == 2000);
  for (std::uint64_t i = 0; i < 2000; ++i) CHECK(table.find(tokens[i])->id() == id_of(i % 50));
  for (const LeaseTable::Token token : tokens) REQUIRE(table.take(token));
  for (const LeaseTable::Token token : tokens) CHECK(!table.take(token));
  CHECK(bank.stats().device.leases == 0);
}

TEST_CASE("threads that give leases back twice and out of turn leave none behind", "[bank][lease]") {
  const std::size_t rounds = timbre::cache::short_form("rounds", 20'000, 1000);
  Bench bench;
  for (std::uint64_t i = 0; i < 50; ++i) bench.keep(i);
  VoiceBank& bank = bench.make();
  LeaseTable table;
  std::atomic<std::size_t> wrong{0};
  Crowd crowd(4, [&](std::size_t thread) {
    Dice dice{thread + 1};
    std::deque<std::pair<LeaseTable::Token, std::uint64_t>> held;
    for (std::size_t i = 0; i < rounds; ++i) {
      const std::uint64_t number = dice.roll() % 50;
      auto voice = bank.get(id_of(number));
      held.emplace_back(*table.put(*voice), number);
      if (held.size() < 1 + dice.roll() % 20) continue;
      const auto [token, expected] = held.front();
      held.pop_front();
      const auto taken = table.take(token);
      if (!taken || taken->id() != id_of(expected)) ++wrong;
      if (table.take(token)) ++wrong;
    }
    for (const auto& [token, number] : held) wrong += table.take(token) ? 0 : 1;
  });
  crowd.join();
  CHECK(wrong == 0);
  CHECK(table.size() == 0);
  CHECK(bank.stats().device.leases == 0);
}
