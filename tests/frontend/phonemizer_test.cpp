// SPDX-License-Identifier: MIT
#include "frontend/phonemizer.hpp"

#include <catch2/catch.hpp>

#include "fake_phonemizer.hpp"

using timbre::Status;
using timbre::frontend::Phonemizer;

TEST_CASE("a plug-in that is missing or none is an error", "[phonemizer]") {
  const auto missing = Phonemizer::open("/no/such/plugin.so", "", "");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().status == Status::kNotFound);
  CHECK_THAT(missing.error().message, Catch::Contains("/no/such/plugin.so"));
  const auto other = Phonemizer::open("libutf8proc.so.2", "", "");
  REQUIRE_FALSE(other);
  CHECK(other.error().status == Status::kIncompatible);
}

TEST_CASE("a plug-in of another ABI is refused", "[phonemizer]") {
  timbre_phonemizer table = timbre::test::kFakePhonemizer;
  table.abi = 7;
  CHECK(Phonemizer::wrap(&table, "p", "", "").error().status == Status::kIncompatible);
  table = timbre::test::kFakePhonemizer;
  table.struct_size = 8;
  CHECK(Phonemizer::wrap(&table, "p", "", "").error().status == Status::kIncompatible);
  CHECK(Phonemizer::wrap(nullptr, "p", "", "").error().status == Status::kIncompatible);
}

TEST_CASE("a clause that is larger than the first buffer comes whole", "[phonemizer]") {
  timbre_phonemizer table = timbre::test::kFakePhonemizer;
  table.next_clause = [](void*, const char*, const char*, std::uint64_t size, std::uint64_t* offset, timbre_clause* out,
                         char*, std::uint64_t) -> timbre_status {
    out->phonemes_size = 100'000;
    if (out->phonemes_capacity < 100'000) return TIMBRE_OK;
    std::memset(out->phonemes, 'x', 100'000);
    *offset = size;
    return TIMBRE_OK;
  };
  const auto phonemizer = Phonemizer::wrap(&table, "p", "", "");
  REQUIRE(phonemizer);
  timbre::frontend::PhonemizerClause clause;
  std::uint64_t offset = 0;
  REQUIRE((*phonemizer)->next_clause("en", "abc", offset, clause));
  CHECK(clause.phonemes == std::string(100'000, 'x'));
  CHECK(offset == 3);
}
