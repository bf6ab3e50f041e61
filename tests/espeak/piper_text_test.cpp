// SPDX-License-Identifier: MIT
//
// Text to ids against piper-tts (tests/reference/make_piper_text_goldens.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "espeak_case.hpp"
#include "frontend/piper_front_end.hpp"

using nlohmann::json;
using timbre::frontend::InputKind;

namespace {

using Ids = std::vector<std::int32_t>;

json voice_json() {
  std::ifstream file(TIMBRE_GOLDEN_DIR "/piper_text.json");
  REQUIRE(file);
  const json golden = json::parse(file);
  return {
      {"phoneme_type", "espeak"}, {"espeak", {{"voice", "en-us"}}}, {"phoneme_id_map", golden.at("phoneme_id_map")}};
}

std::vector<Ids> ids_of(const timbre::frontend::FrontEnd& front_end, const std::string& text) {
  auto cursor = front_end.open(text, InputKind::kText);
  REQUIRE(cursor);
  std::vector<Ids> all;
  for (timbre::frontend::Sentence sentence;;) {
    auto more = (*cursor)->next(sentence);
    REQUIRE(more);
    if (!*more) return all;
    all.push_back(sentence.ids);
  }
}

// Begin, end and punctuation, with the space behind it: what does not depend on espeak-ng's version.
Ids structure(const Ids& ids) {
  Ids out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = ids[i];
    if (id == 1 || id == 2 || id == 4 || id == 8 || (id >= 10 && id <= 13)) out.push_back(id);
    if (id == 3 && i >= 2 && (ids[i - 2] == 8 || ids[i - 2] == 11 || ids[i - 2] == 12)) out.push_back(id);
  }
  return out;
}

}  // namespace

TEST_CASE("sentences, punctuation and most ids are those of piper-tts", "[piper_text]") {
  std::ifstream file(TIMBRE_GOLDEN_DIR "/piper_text.json");
  const json golden = json::parse(file);
  auto front_end = timbre::frontend::make_piper_front_end(
      voice_json().dump(), "voice", [] { return timbre::frontend::Phonemizer::open(TIMBRE_ESPEAK_PLUGIN, "", ""); });
  REQUIRE(front_end);
  std::size_t equal = 0;
  std::size_t texts = 0;
  for (const json& record : golden.at("texts")) {
    const std::string text = record.at("text");
    CAPTURE(text);
    const auto wanted = record.at("ids").get<std::vector<Ids>>();
    const auto found = ids_of(**front_end, text);
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(structure(found[i]) == structure(wanted[i]));
    ++texts;
    if (found == wanted) ++equal;
  }
  // Debian's espeak-ng 1.51 writes oː for ɔː before r and does not link vowels by ʲ; the rest is equal.
  CAPTURE(equal, texts);
  CHECK(texts >= 30);
  CHECK(equal * 100 >= texts * 60);
}
