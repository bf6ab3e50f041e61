// SPDX-License-Identifier: MIT
//
// Small voices for the front end's tests, and a way to read all sentences of a text.
#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/front_end.hpp"
#include "frontend/piper_front_end.hpp"

namespace timbre::test {

/// A Piper configuration whose letters a..z are 10..35, and with a few marks.
inline nlohmann::json piper_json() {
  nlohmann::json map = {{"_", {0}}, {"^", {1}}, {"$", {2}}, {" ", {3}}, {".", {4}},      {",", {5}},
                        {"?", {6}}, {"!", {7}}, {":", {8}}, {";", {9}}, {"\u0301", {40}}};
  for (char c = 'a'; c <= 'z'; ++c) map[std::string(1, c)] = {10 + (c - 'a')};
  return {{"audio", {{"sample_rate", 22050}}},
          {"espeak", {{"voice", "en"}}},
          {"phoneme_type", "espeak"},
          {"phoneme_id_map", map}};
}

inline std::vector<frontend::Sentence> sentences(const frontend::FrontEnd& front_end, std::string_view text,
                                                 frontend::InputKind kind = frontend::InputKind::kText,
                                                 std::uint64_t* skipped_at_end = nullptr) {
  auto cursor = front_end.open(text, kind);
  if (!cursor) FAIL(cursor.error().message);
  std::vector<frontend::Sentence> all;
  for (frontend::Sentence sentence;;) {
    auto more = (*cursor)->next(sentence);
    if (!more) FAIL(more.error().message);
    if (!*more) break;
    REQUIRE(sentence.ids.size() == sentence.ranges.size());
    REQUIRE(!sentence.ids.empty());
    REQUIRE(sentence.ids.size() <= 2048);
    bool inside = true;
    for (const auto& range : sentence.ranges) inside = inside && range.begin <= range.end && range.end <= text.size();
    REQUIRE(inside);
    all.push_back(sentence);
  }
  if (skipped_at_end != nullptr) *skipped_at_end = (*cursor)->skipped_at_end();
  return all;
}

/// The sentences as text again, by the map of piper_json(): pads and bos/eos left out, "|" between sentences.
inline std::string spelled(const std::vector<frontend::Sentence>& all) {
  std::string out;
  for (const auto& sentence : all) {
    if (!out.empty()) out += '|';
    for (const auto id : sentence.ids) {
      if (id >= 10 && id < 36) out += static_cast<char>('a' + (id - 10));
      if (id >= 3 && id < 10) out += " .,?!:;"[id - 3];
      if (id == 40) out += '\'';
    }
  }
  return out;
}

inline std::unique_ptr<frontend::FrontEnd> piper(const nlohmann::json& json, frontend::PhonemizerProvider provider) {
  auto made = frontend::make_piper_front_end(json.dump(), "voice.onnx.json", std::move(provider));
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

}  // namespace timbre::test
