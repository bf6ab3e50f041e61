// SPDX-License-Identifier: MIT
//
// VitsTokenizer with "phonemize" against what transformers does: the package phonemizer 3.4.0 (en-us, espeak backend on
// espeak-ng 1.51, stress and punctuation kept, stripped), white space then brought to one space. The texts avoid words
// in which versions of espeak-ng differ.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "espeak_case.hpp"
#include "frontend/character_front_end.hpp"
#include "frontend/unicode.hpp"

using nlohmann::json;
using timbre::frontend::InputKind;

namespace {

struct Line {
  std::string text;
  std::string prepared;
};

const std::vector<Line> kLines = {
    {"Hello, world!", "həlˈoʊ, wˈɜːld!"},
    {"Mr. Smith went to Washington, D.C. yesterday.", "mˈɪstɚ. smˈɪθ wɛnt tə wˈɑːʃɪŋtən, dˈiː.sˈiː. jˈɛstɚdˌeɪ."},
    {"“Yes,” she said. (No.)", "“jˈɛs,” ʃiː sˈɛd. (nˈoʊ.)"},
    {"Wait... what?  Two  spaces - and a dash — here.", "wˈeɪt... wˌʌt? tˈuː spˈeɪsᵻz ænd ɐ dˈæʃ — hˈɪɹ."},
    {"line one\nline two", "lˈaɪn wˌʌn lˈaɪn tˈuː"},
    {" lead and trail ", "lˈiːd ænd tɹˈeɪl"},
    {"Hello world. ", "həlˈoʊ wˈɜːld. "},
    {"a: b", "ˈeɪ: bˈiː"},
    {"don't stop", "dˈoʊnt stˈɑːp"},
    {"?! what", "?! wˌʌt"},
    {"10:30 it", "tˈɛn:θˈɜːɾi ɪt"},
    {"1;2 x", "wˈʌn;tˈuː ˈɛks"},
    {"1..2", "wˈʌn..tˈuː"},
    {"1. 2", "wˈʌn. tˈuː"},
    {"1,a", "wˈʌn,ˈeɪ"},
    {"$3.50, x", "dˈɑːlɚ θɹˈiː pɔɪnt fˈaɪv zˈiəɹoʊ, ˈɛks"},
    {"x.5", "ˈɛks.fˈaɪv"},
    {"(1.5)", "(wˈʌn pɔɪnt fˈaɪv)"},
    {"¿a?", "¿ˈeɪ?"},
};

// Every code point that a line can hold is its own id.
json vocabulary() {
  std::set<std::string> symbols = {"_"};
  for (const Line& line : kLines) {
    for (std::string_view rest = line.prepared; !rest.empty();) {
      const auto size = timbre::frontend::first_code_point(rest).size;
      symbols.insert(std::string(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
  }
  json vocab;
  for (const auto& symbol : symbols) vocab[symbol] = timbre::frontend::first_code_point(symbol).value;
  return vocab;
}

std::string prepared(const timbre::frontend::FrontEnd& front_end, const std::string& text) {
  auto cursor = front_end.open(text, InputKind::kText);
  REQUIRE(cursor);
  std::string out;
  for (timbre::frontend::Sentence sentence;;) {
    auto more = (*cursor)->next(sentence);
    REQUIRE(more);
    if (!*more) return out;
    for (const auto id : sentence.ids) timbre::frontend::append_utf8(static_cast<char32_t>(id), out);
  }
}

}  // namespace

TEST_CASE("phonemes and punctuation are those that transformers makes with phonemizer", "[phonemized]") {
  const std::string vocab = vocabulary().dump();
  const auto front_end = timbre::frontend::make_character_front_end(
      {{vocab, "vocab.json"}, {R"({"add_blank": false})", "tokenizer_config.json"}, {}, {}},
      [] { return timbre::frontend::Phonemizer::open(TIMBRE_ESPEAK_PLUGIN, "", ""); });
  REQUIRE(front_end);
  for (const Line& line : kLines) {
    CAPTURE(line.text);
    CHECK(prepared(**front_end, line.text) == line.prepared);
  }
}
