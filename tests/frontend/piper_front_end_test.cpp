// SPDX-License-Identifier: MIT
#include "frontend/piper_front_end.hpp"

#include <catch2/catch.hpp>

#include "../cache/short_form.hpp"
#include "fake_phonemizer.hpp"
#include "text_cases.hpp"

using timbre::Status;
using timbre::cache::short_form;
using timbre::frontend::InputKind;
using timbre::frontend::Sentence;
using timbre::test::FakeProvider;
using timbre::test::piper;
using timbre::test::piper_json;
using timbre::test::sentences;
using timbre::test::spelled;

namespace {

using Ids = std::vector<std::int32_t>;

std::string said(std::string_view text) { return spelled(sentences(*piper(piper_json(), FakeProvider{}), text)); }

std::string said_phonemes(std::string_view text) {
  return spelled(sentences(*piper(piper_json(), nullptr), text, InputKind::kPhonemes));
}

}  // namespace

TEST_CASE("a pad follows the begin and every phoneme, and none the end", "[piper]") {
  // k2-fsa/sherpa-onnx#3721: without the pad after the begin the first phoneme is lost.
  const auto all = sentences(*piper(piper_json(), FakeProvider{}), "ab.");
  REQUIRE(all.size() == 1);
  CHECK(all[0].ids == Ids{1, 0, 10, 0, 11, 0, 4, 0, 2});
}

TEST_CASE("a phoneme of several ids has one pad behind them", "[piper]") {
  auto json = piper_json();
  json["phoneme_id_map"]["a"] = {50, 51};
  json["phoneme_id_map"]["_"] = {0, 60};
  const auto all = sentences(*piper(json, FakeProvider{}), "ab");
  CHECK(all.at(0).ids == Ids{1, 0, 60, 50, 51, 0, 60, 11, 0, 60, 2});
}

TEST_CASE("punctuation stays, with a space behind comma, colon and semicolon", "[piper]") {
  CHECK(said("ab, cd: ef; gh. ij? kl! mn") == "ab, cd: ef; gh.|ij?|kl!|mn");
}

TEST_CASE("phonemes are decomposed to NFD code points", "[piper]") { CHECK(said("caf\u00e9") == "cafe'"); }

TEST_CASE("flags of another language are no phonemes", "[piper]") {
  auto json = piper_json();
  json["espeak"]["voice"] = "flags";
  CHECK(spelled(sentences(*piper(json, FakeProvider{}), "ab, cd.")) == "ab, cd.");
}

TEST_CASE("raw phonemes join the sentences around them", "[piper]") {
  CHECK(said("ab [[cd]] ef. gh") == "ab  cd  ef.|gh");  // the clauses of this phonemizer keep their spaces
  CHECK(said("[[ cd ]]") == "cd");
  CHECK(said("[[cd]][[ef]]") == "cdef");
  CHECK(said("ab.[[cd]] ef") == "ab.cd  ef");
  CHECK(said("[[caf\u00e9]]") == "cafe'");
}

TEST_CASE("brackets that do not close on their line are text", "[piper]") {
  std::uint64_t skipped = 0;
  const auto all = sentences(*piper(piper_json(), FakeProvider{}), "[[ab\ncd]]", InputKind::kText, &skipped);
  CHECK(spelled(all) == "abcd");
  CHECK(all.at(0).skipped_symbols == 5);
  CHECK(said("[[ab") == "ab");
}

TEST_CASE("unknown phonemes are skipped, counted and named", "[piper]") {
  const auto all = sentences(*piper(piper_json(), FakeProvider{}), "a1b2. cd.");
  REQUIRE(all.size() == 2);
  CHECK(spelled(all) == "ab.|cd.");
  CHECK(all[0].skipped_symbols == 2);
  CHECK(all[0].first_skipped == "1");
  CHECK(all[1].skipped_symbols == 0);
}

TEST_CASE("a text without any known symbol has no sentence, and its symbols are counted at the end", "[piper]") {
  for (const char* text : {"", " ", "   ", "\n\n", "\t"}) CHECK(said(text).empty());
  std::uint64_t skipped = 0;
  CHECK(sentences(*piper(piper_json(), FakeProvider{}), "\U0001F600 123", InputKind::kText, &skipped).empty());
  CHECK(skipped == 4);
}

TEST_CASE("skipped symbols of an empty sentence count with the next", "[piper]") {
  auto json = piper_json();
  json["phoneme_id_map"].erase(".");
  const auto all = sentences(*piper(json, FakeProvider{}), "1. 2. ab.");
  REQUIRE(all.size() == 1);
  CHECK(all[0].skipped_symbols == 5);
}

TEST_CASE("ids know the clause they come from, inserted ones an empty range", "[piper]") {
  const std::string text = "ab, cd. ef";
  const auto all = sentences(*piper(piper_json(), FakeProvider{}), text);
  REQUIRE(all.size() == 2);
  const auto& ids = all[0].ids;  // ^ _ a _ b _ , _ space _ c _ d _ . _ $
  REQUIRE(ids.size() == 17);
  const auto piece = [&](std::size_t i) {
    return text.substr(all[0].ranges[i].begin, all[0].ranges[i].end - all[0].ranges[i].begin);
  };
  CHECK(piece(2) == "ab,");
  CHECK(piece(6) == "ab,");
  CHECK(piece(10) == "cd.");
  for (const std::size_t inserted : {0, 1, 3, 5, 16}) CHECK(piece(inserted).empty());
  CHECK(text.substr(all[1].ranges[2].begin) == "ef");
}

TEST_CASE("phoneme_map replaces a phoneme by others", "[piper]") {
  auto json = piper_json();
  json["phoneme_map"] = {{"a", {"x", "y"}}, {"b", nlohmann::json::array()}};
  CHECK(spelled(sentences(*piper(json, FakeProvider{}), "abc.")) == "xyc.");
}

TEST_CASE("vowel clusters are one phoneme", "[piper]") {
  auto json = piper_json();
  json["vowel_clusters"] = {{"a", "i"}, {"o", "i", "e"}};
  json["phoneme_id_map"]["ai"] = {100};
  json["phoneme_id_map"]["oie"] = {101};
  const auto all = sentences(*piper(json, FakeProvider{}), "aioiei");
  CHECK(all.at(0).ids == Ids{1, 0, 100, 0, 101, 0, 18, 0, 2});
  json.erase("vowel_clusters");  // a long symbol alone in the map is none
  CHECK(sentences(*piper(json, FakeProvider{}), "ai").at(0).ids == Ids{1, 0, 10, 0, 18, 0, 2});
}

TEST_CASE("phoneme strings go through the same map, need no phonemizer and are one sentence", "[piper]") {
  CHECK(said_phonemes("ab. cd? e\u0301\u00e9") == "ab. cd? e'e'");
  CHECK(said_phonemes("ab\ncd") == "ab cd");
  CHECK(said_phonemes("").empty());
}

TEST_CASE("words of a phoneme string have ranges of their own", "[piper]") {
  const auto all = sentences(*piper(piper_json(), nullptr), "ab cd", InputKind::kPhonemes);
  REQUIRE(all.size() == 1);
  CHECK(all[0].ranges[2].begin == 0);
  CHECK(all[0].ranges[4].end == 2);
  CHECK(all[0].ranges[8].begin == 3);
  CHECK(all[0].ranges[8].end == 5);
}

TEST_CASE("voices with a front end of their own take phoneme strings, not text", "[piper]") {
  for (const char* type : {"pinyin", "hebrew", "japanese", "thai", "something"}) {
    auto json = piper_json();
    json["phoneme_type"] = type;
    json["phoneme_id_map"]["zh"] = {100};
    const auto front_end = piper(json, FakeProvider{});
    const auto refused = front_end->open("ni hao", InputKind::kText);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == Status::kUnsupported);
    CHECK_THAT(refused.error().message, Catch::Contains(type) && Catch::Contains("voice.onnx.json"));
    CHECK(sentences(*front_end, "zhe", InputKind::kPhonemes).at(0).ids == Ids{1, 0, 100, 0, 14, 0, 2});
  }
}

TEST_CASE("text that is not UTF-8 is refused with the place", "[piper]") {
  const auto front_end = piper(piper_json(), FakeProvider{});
  for (const auto& [text, at] : {std::pair<std::string, const char*>{"ab\xff", "byte 2"},
                                 {"\xc3", "byte 0"},
                                 {"abc\xed\xa0\x80", "byte 3"},
                                 {"a\xc0\xaf", "byte 1"},
                                 {"\xf5\x80\x80\x80", "byte 0"}}) {
    for (const auto kind : {InputKind::kText, InputKind::kPhonemes}) {
      const auto refused = front_end->open(text, kind);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().status == Status::kInvalidArgument);
      CHECK_THAT(refused.error().message, Catch::Contains(at));
    }
  }
}

TEST_CASE("the phonemizer is asked for only when text needs it", "[piper]") {
  const FakeProvider provider;
  const auto front_end = piper(piper_json(), provider);
  sentences(*front_end, "");
  sentences(*front_end, " [[ab]]\n");
  sentences(*front_end, "ab", InputKind::kPhonemes);
  CHECK(*provider.calls == 0);
  sentences(*front_end, "ab");
  CHECK(*provider.calls == 1);
}

TEST_CASE("a missing phonemizer, an unknown voice and a failing one are errors", "[piper]") {
  const auto none = piper(piper_json(), nullptr)->open("ab", InputKind::kText);
  REQUIRE_FALSE(none);
  CHECK(none.error().status == Status::kNotFound);

  auto json = piper_json();
  json["espeak"]["voice"] = "xx";
  const auto unknown = piper(json, FakeProvider{})->open("ab", InputKind::kText);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().status == Status::kNotFound);
  CHECK_THAT(unknown.error().message, Catch::Contains("voice.onnx.json") && Catch::Contains("xx"));

  json.erase("espeak");
  CHECK(piper(json, FakeProvider{})->open("ab", InputKind::kText).error().status == Status::kUnsupported);

  for (const char* voice : {"fails", "lies"}) {
    json["espeak"]["voice"] = voice;
    const auto front_end = piper(json, FakeProvider{});
    auto cursor = front_end->open("ab", InputKind::kText);
    REQUIRE(cursor);
    Sentence sentence;
    CHECK((*cursor)->next(sentence).error().status == Status::kInternal);
  }
}

TEST_CASE("a long sentence is cut at its last space, and the piece behind says so", "[piper]") {
  std::string text;
  while (text.size() < 3000) text += "abcd ";
  text += "end.";
  const auto all = sentences(*piper(piper_json(), FakeProvider{}), text);
  REQUIRE(all.size() == 3);
  CHECK_FALSE(all[0].split);
  CHECK(all[1].split);
  CHECK(all[2].split);
  CHECK(all[0].ids.size() > 2030);
  CHECK(all[0].ids.front() == 1);
  CHECK(all[0].ids.back() == 2);
  std::string joined = spelled(all);
  std::replace(joined.begin(), joined.end(), '|', ' ');
  CHECK(joined == text);
  const auto next = sentences(*piper(piper_json(), FakeProvider{}), text + " ab.");
  CHECK_FALSE(next.back().split);
}

TEST_CASE("text without spaces is cut hard at the limit", "[piper]") {
  const auto all = sentences(*piper(piper_json(), FakeProvider{}), std::string(3000, 'a'));
  REQUIRE(all.size() == 3);
  CHECK(all[0].ids.size() == 2047);  // bos pad (a pad)* eos is odd
  CHECK(spelled(all).size() == 3002);
}

TEST_CASE("a sentence that just fits is whole", "[piper]") {
  const std::string fits(1022, 'a');
  CHECK(sentences(*piper(piper_json(), FakeProvider{}), fits).size() == 1);
  CHECK(sentences(*piper(piper_json(), FakeProvider{}), fits + "a").size() == 2);
}

TEST_CASE("a megabyte without punctuation comes out whole, sentence by sentence", "[piper]") {
  const std::size_t bytes = short_form("bytes of text", 1'000'000, 100'000);
  std::string text;
  while (text.size() < bytes) text += "abcd efgh ";
  text.pop_back();
  std::string joined = spelled(sentences(*piper(piper_json(), FakeProvider{}), text));
  std::replace(joined.begin(), joined.end(), '|', ' ');
  CHECK(joined == text);
  std::string brackets;
  while (brackets.size() < bytes) brackets += "[[\n";
  CHECK(said(brackets).empty());
  CHECK(said("[[" + std::string(bytes, 'a') + "]]").size() > bytes);
}
