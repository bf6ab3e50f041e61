// SPDX-License-Identifier: MIT
#include "frontend/character_front_end.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "../cache/short_form.hpp"
#include "fake_phonemizer.hpp"
#include "text_cases.hpp"

using nlohmann::json;
using timbre::Status;
using timbre::cache::short_form;
using timbre::frontend::CharacterFiles;
using timbre::frontend::InputKind;
using timbre::frontend::make_character_front_end;
using timbre::test::FakeProvider;
using timbre::test::sentences;

namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<timbre::frontend::FrontEnd> make(const json& vocab, const json& config, const json& added = {},
                                                 timbre::frontend::PhonemizerProvider provider = nullptr) {
  const std::string vocab_text = vocab.dump();
  const std::string config_text = config.dump();
  const std::string added_text = added.is_null() ? "" : added.dump();
  CharacterFiles files{{vocab_text, "m/vocab.json"},
                       {config_text, "m/tokenizer_config.json"},
                       {added_text, "m/added_tokens.json"},
                       {"{}", "m/special_tokens_map.json"}};
  auto made = make_character_front_end(files, std::move(provider));
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

json vocabulary(std::string_view letters) {
  json vocab;
  for (std::size_t i = 0; i < letters.size(); ++i) vocab[std::string(1, letters[i])] = i;
  return vocab;
}

const json kPlain = {{"phonemize", false}, {"language", "eng"}};

Ids ids_of(const timbre::frontend::FrontEnd& front_end, std::string_view text) {
  const auto all = sentences(front_end, text);
  return all.empty() ? Ids{} : all.at(0).ids;
}

// What has no id in vocab.json is skipped here, and becomes an id that no embedding has there.
Ids without_unknown(const json& group, Ids ids) {
  for (const auto& [token, id] : group.at("added").items()) {
    for (std::size_t i = 0; i < ids.size();) {
      if (ids[i] != id.get<int>()) {
        ++i;
        continue;
      }
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
      if (i < ids.size() && group.at("config").at("add_blank")) ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return ids.size() == 1 ? Ids{} : ids;
}

}  // namespace

TEST_CASE("ids are those of transformers' VitsTokenizer", "[characters]") {
  std::ifstream file(TIMBRE_GOLDEN_DIR "/tokenizer_hf.json");
  REQUIRE(file);
  const json golden = json::parse(file);
  std::size_t lines = 0;
  for (const json& group : golden.at("cases")) {
    if (group.at("needs_uroman")) continue;
    const auto front_end = make(group.at("vocab"), group.at("config"), group.at("added"));
    for (const json& line : group.at("lines")) {
      CAPTURE(group.at("name").get<std::string>(), line.at("text").get<std::string>());
      const std::string text = line.at("text");
      // The tokenizer keeps the case of TH, and then drops T and H, which are no tokens; the token is taken here.
      const Ids wanted = group.at("name") == "several_codepoints" && text == "THAT" ? Ids{0, 6, 0, 1, 0, 3, 0}
                                                                                    : line.at("ids").get<Ids>();
      CHECK(ids_of(*front_end, text) == without_unknown(group, wanted));
      ++lines;
    }
  }
  CHECK(lines > 40);
}

TEST_CASE("text that needs uroman is refused with the reason, other text is not", "[characters]") {
  const auto front_end = make(vocabulary("_abc "), {{"phonemize", false}, {"is_uroman", true}, {"language", "kor"}});
  const auto refused = front_end->open("\uac00", InputKind::kText);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::kUnsupported);
  CHECK_THAT(refused.error().message,
             Catch::Contains("uroman") && Catch::Contains("kor") && Catch::Contains("m/tokenizer_config.json"));
  CHECK(ids_of(*front_end, "ABC") == Ids{0, 1, 0, 2, 0, 3, 0});
}

TEST_CASE("what the vocabulary lacks is counted", "[characters]") {
  const auto all = sentences(*make(vocabulary("_abc "), kPlain), "a, \u00e9b!");
  REQUIRE(all.size() == 1);
  CHECK(all[0].ids == Ids{0, 1, 0, 4, 0, 2, 0});
  CHECK(all[0].skipped_symbols == 3);
  CHECK(all[0].first_skipped == ",");
  std::uint64_t skipped = 0;
  CHECK(sentences(*make(vocabulary("_abc "), kPlain), "???", InputKind::kText, &skipped).empty());
  CHECK(skipped == 3);
}

TEST_CASE("without blanks ids stand alone", "[characters]") {
  json config = kPlain;
  config["add_blank"] = false;
  CHECK(ids_of(*make(vocabulary("_abc "), config), "abc") == Ids{1, 2, 3});
}

TEST_CASE("characters know their word", "[characters]") {
  const std::string text = "  ab c";
  const auto all = sentences(*make(vocabulary("_abc "), kPlain), text);
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].ids == Ids{0, 1, 0, 2, 0, 4, 0, 3, 0});
  CHECK(all[0].ranges[1].begin == 2);
  CHECK(all[0].ranges[3].end == 4);
  CHECK(all[0].ranges[7].begin == 5);
  CHECK(all[0].ranges[0].begin == all[0].ranges[0].end);
}

TEST_CASE("a whole text is one sentence up to the limit, and is split at a space beyond it", "[characters]") {
  const auto front_end = make(vocabulary("_abc ."), kPlain);
  CHECK(sentences(*front_end, "ab. ab! ab? ab").size() == 1);
  std::string text;
  while (text.size() < 5000) text += "abc ";
  const auto all = sentences(*front_end, text);
  REQUIRE(all.size() == 5);
  CHECK(all[1].split);
  for (const auto& sentence : all) {
    CHECK(sentence.ids.front() == 0);
    CHECK(sentence.ids.size() % 2 == 1);
  }
  const std::size_t bytes = short_form("bytes of text", 1'000'000, 100'000);
  CHECK(sentences(*front_end, std::string(bytes, 'a')).size() > bytes / 1111);
  CHECK(sentences(*front_end, "a" + std::string(bytes, ' ') + "b").size() >= 2);
  CHECK(sentences(*front_end, std::string(bytes, ' ')).empty());
}

TEST_CASE("missing options have VitsTokenizer's defaults", "[characters]") {
  const auto front_end = make(vocabulary("_abc "), json::object());  // phonemize is on
  CHECK(front_end->open("ab", InputKind::kText).error().status == Status::kNotFound);
  CHECK(sentences(*front_end, "ab", InputKind::kPhonemes).at(0).ids == Ids{0, 1, 0, 2, 0});
}

TEST_CASE("phonemes keep the text's punctuation, and white space is one space", "[characters]") {
  const auto front_end = make(vocabulary("_abcd ,.!"), json::object(), {}, FakeProvider{});
  // ids: a 1, b 2, c 3, d 4, space 5, comma 6, full stop 7
  CHECK(ids_of(*front_end, "ab,  cd\n ab.") == Ids{0, 1, 0, 2, 0, 6, 0, 5, 0, 3, 0, 4, 0, 5, 0, 1, 0, 2, 0, 7, 0});
  const std::size_t bytes = short_form("bytes of text", 100'000, 10'000);
  for (const std::string unit : {".", " ", " .", "\n", "a", "a\n", " a"}) {  // ends, whatever it is
    std::string text;
    while (text.size() < bytes) text += unit;
    sentences(*front_end, text);
    sentences(*front_end, "b" + text + "b");
  }
  CHECK(ids_of(*front_end, ", , .") == Ids{0, 6, 0, 5, 0, 6, 0, 5, 0, 7, 0});
}

TEST_CASE("tokenizer files with wrong contents are errors that name them", "[characters]") {
  const auto error = [](std::string_view vocab, std::string_view config, std::string_view added) {
    const auto made = make_character_front_end(
        {{vocab, "m/vocab.json"}, {config, "m/tokenizer_config.json"}, {added, "m/added_tokens.json"}, {}}, nullptr);
    REQUIRE_FALSE(made);
    CHECK(made.error().status == Status::kFormat);
    return made.error().message;
  };
  using Catch::Contains;
  CHECK_THAT(error("", "", ""), Contains("m/vocab.json") && Contains("empty"));
  CHECK_THAT(error("{}", "", ""), Contains("no tokens"));
  CHECK_THAT(error(R"({"a": -1})", "", ""), Contains("\"a\" must be a whole number of 0..2147483647, found -1"));
  CHECK_THAT(error(R"({"a": "1"})", "", ""), Contains("\"a\" must be a whole number"));
  CHECK_THAT(error(R"({"": 1})", "", ""), Contains("0 bytes"));
  CHECK_THAT(error(R"({"a": 1})", "<html>", ""), Contains("m/tokenizer_config.json") && Contains("HTML"));
  CHECK_THAT(error(R"({"a": 1})", R"({"add_blank": 1})", ""), Contains("add_blank must be true or false"));
  CHECK_THAT(error(R"({"a": 1})", R"({"language": 1})", ""), Contains("language must be a string"));
  CHECK_THAT(error(R"({"a": 1})", "{}", "[]"), Contains("m/added_tokens.json"));
}
