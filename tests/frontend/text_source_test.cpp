// SPDX-License-Identifier: MIT
#include "frontend/text_source.hpp"

#include <catch2/catch.hpp>

#include "text_cases.hpp"

using timbre::test::piper;
using timbre::test::piper_json;
using timbre::test::sentences;
using timbre::test::spelled;

namespace {

nlohmann::json text_json() {
  auto json = piper_json();
  json["phoneme_type"] = "text";
  return json;
}

std::string said(std::string_view text) { return spelled(sentences(*piper(text_json(), nullptr), text)); }

}  // namespace

TEST_CASE("characters are case-folded and decomposed", "[text_source]") {
  CHECK(said("ABC") == "abc");
  CHECK(said("Stra\u00dfe") == "strasse");
  CHECK(said("CAF\u00c9") == "cafe'");
  CHECK(said("CAFE\u0301") == "cafe'");
}

TEST_CASE("a letter that is known only as it stands keeps its case", "[text_source]") {
  auto json = text_json();
  json["phoneme_id_map"]["A"] = {100};
  json["phoneme_id_map"].erase("b");
  json["phoneme_id_map"]["B"] = {101};
  CHECK(sentences(*piper(json, nullptr), "AB").at(0).ids == std::vector<std::int32_t>{1, 0, 10, 0, 101, 0, 2});
}

TEST_CASE("sentences end at marks before white space", "[text_source]") {
  CHECK(said("One two. Three?  Four! \"Five.\" six 3.14 a.b") == "one two.|three?|four!|five.|six . a.b");
  CHECK(said("a.\n\nb") == "a.|b");
  CHECK(said("...") == "...");
  CHECK(said(".") == ".");
}

TEST_CASE("ids know their word", "[text_source]") {
  const std::string text = "Ab  cd.";
  const auto all = sentences(*piper(text_json(), nullptr), text);
  REQUIRE(all.size() == 1);
  const auto& ranges = all[0].ranges;  // ^ _ a _ b _ space _ space _ c ...
  CHECK(text.substr(ranges[2].begin, ranges[2].end - ranges[2].begin) == "Ab");
  CHECK(text.substr(ranges[10].begin, ranges[10].end - ranges[10].begin) == "cd.");
}

TEST_CASE("zero bytes and unknown characters are skipped and counted", "[text_source]") {
  const auto all = sentences(*piper(text_json(), nullptr), std::string_view("a\0b\U0001F600", 7));
  REQUIRE(all.size() == 1);
  CHECK(spelled(all) == "ab");
  CHECK(all[0].skipped_symbols == 2);
}

TEST_CASE("a sentence of plain text is cut behind a sentence end where one is near", "[text_source]") {
  std::string text;
  while (text.size() < 1500) text += "abcd.ef ";
  text.replace(800, 8, "abcde.) ");  // a closer that the map does not know: no sentence for the map, but a mark
  const auto all = sentences(*piper(text_json(), nullptr), text);
  CHECK(all.size() >= 2);
}
