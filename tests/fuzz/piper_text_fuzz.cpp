// SPDX-License-Identifier: MIT
//
// Fuzzes the front ends: the configuration files as JSON, and texts through Piper's rules and the character tokenizer.
//
// Input: one byte that chooses, the first part up to a 0xFF byte, the rest. A configuration that loads reads the rest
// as text; whatever comes out must keep the promises of TextCursor.
#include <memory>
#include <string>
#include <string_view>

#include "../frontend/fake_phonemizer.hpp"
#include "frontend/character_front_end.hpp"
#include "frontend/piper_front_end.hpp"
#include "fuzz_target.hpp"

namespace {

using namespace timbre::frontend;
using timbre::test::require;
using timbre::test::succeeded;

constexpr std::string_view kPiper =
    R"({"espeak": {"voice": "en"}, "phoneme_id_map": {"_": [0], "^": [1], "$": [2], " ": [3], ".": [4], "a": [5, 6],
        "b": [7], "ab": [8], "e": [9]}, "vowel_clusters": [["a", "b"]], "phoneme_map": {"x": ["a", "b"]}, "phoneme_type": )";
constexpr std::string_view kVocab = R"({"_": 0, "a": 1, "b": 2, "th": 3, " ": 4, ".": 5, "é": 6, "B": 7})";

void read_all(const FrontEnd& front_end, std::string_view text, InputKind kind) {
  auto cursor = front_end.open(text, kind);
  if (!succeeded(cursor)) return;
  Sentence sentence;
  for (;;) {
    auto more = (*cursor)->next(sentence);
    if (!succeeded(more) || !*more) return;
    require(!sentence.ids.empty() && sentence.ids.size() <= 2048 && sentence.ids.size() == sentence.ranges.size());
    for (const auto& range : sentence.ranges) require(range.begin <= range.end && range.end <= text.size());
  }
}

using Made = timbre::Result<std::unique_ptr<FrontEnd>>;

Made make(std::uint8_t choice, std::string_view first) {
  const timbre::test::FakeProvider provider;
  switch (choice % 6) {
    case 0:
      return make_piper_front_end(first, "fuzz", provider);
    case 1:
      return make_piper_front_end(std::string(kPiper) + "\"espeak\"}", "fuzz", provider);
    case 2:
      return make_piper_front_end(std::string(kPiper) + "\"text\"}", "fuzz", provider);
    case 3:
      return make_character_front_end({{first, "v"}, {R"({"phonemize": false})", "c"}, {}, {}}, provider);
    case 4:
      return make_character_front_end({{kVocab, "v"}, {first, "c"}, {}, {}}, provider);
    default:
      return make_character_front_end({{kVocab, "v"}, {"{}", "c"}, {first, "a"}, {}}, provider);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = std::min(input.find('\xFF'), input.size());
  const auto front_end = make(data[0], input.substr(0, cut));
  if (!succeeded(front_end)) return 0;
  const std::string_view text = cut < input.size() ? input.substr(cut + 1) : input;
  read_all(**front_end, text, (data[0] & 0x80) == 0 ? InputKind::kText : InputKind::kPhonemes);
  return 0;
}
