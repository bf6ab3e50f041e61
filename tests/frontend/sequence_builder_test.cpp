// SPDX-License-Identifier: MIT
#include "frontend/sequence_builder.hpp"

#include <catch2/catch.hpp>

using namespace timbre::frontend;

namespace {

const SequenceRules kRules{{1, 0}, {0}, {2}};

void add(SequenceBuilder& builder, std::string_view text) {
  for (const char c : text) builder.add({c}, {}, kind_of(std::string_view(&c, 1)));
}

std::string text_of(const Sentence& sentence) {
  std::string out;
  for (const auto id : sentence.ids) {
    if (id > 2) out += static_cast<char>(id);
  }
  return out;
}

/// The first of the sentences that `text` is cut into at 31 ids, 14 symbols.
std::string first_cut(std::string_view text) {
  SequenceBuilder builder(kRules, 31);
  add(builder, text);
  Sentence out;
  builder.cut(out);
  return text_of(out);
}

}  // namespace

TEST_CASE("a cut prefers a sentence end in its second half to a later space", "[sequence_builder]") {
  SequenceBuilder builder(kRules, 31);  // 14 symbols
  add(builder, "abcdefg. ij klmno");
  REQUIRE(builder.overfull());
  Sentence out;
  builder.cut(out);
  CHECK(text_of(out) == "abcdefg.");
  CHECK(out.ids.front() == 1);
  CHECK_FALSE(builder.overfull());
  REQUIRE(builder.finish(out));
  CHECK(text_of(out) == "ij klmno");
  CHECK(out.split);
}

TEST_CASE("a sentence end in the first half gives way to a space", "[sequence_builder]") {
  CHECK(first_cut("a. bcdef ghij klmno") == "a. bcdef ghij");
}

TEST_CASE("a space right behind the limit is a place to cut", "[sequence_builder]") {
  CHECK(first_cut("abcdefghijklmn op") == "abcdefghijklmn");
}

TEST_CASE("spaces at a cut are dropped", "[sequence_builder]") {
  SequenceBuilder builder(kRules, 31);
  add(builder, "abcdefgh   ijklmno");
  Sentence out;
  builder.cut(out);
  CHECK(text_of(out) == "abcdefgh  ");
  REQUIRE(builder.finish(out));
  CHECK(text_of(out) == "ijklmno");
}

TEST_CASE("what was skipped is told once, with the sentence that was open", "[sequence_builder]") {
  SequenceBuilder builder(kRules, 31);
  builder.skip("x");
  builder.skip("y");
  Sentence out;
  CHECK_FALSE(builder.finish(out));
  add(builder, "ab");
  REQUIRE(builder.finish(out));
  CHECK(out.skipped_symbols == 2);
  CHECK(out.first_skipped == "x");
  add(builder, "cd");
  REQUIRE(builder.finish(out));
  CHECK(out.skipped_symbols == 0);
  CHECK(out.first_skipped.empty());
}
