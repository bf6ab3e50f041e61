// SPDX-License-Identifier: MIT
#include "frontend/piper_config.hpp"

#include <catch2/catch.hpp>

#include "text_cases.hpp"

using timbre::Status;
using timbre::frontend::parse_piper_config;
using timbre::test::piper_json;

namespace {

std::string error_of(std::string_view json) {
  auto config = parse_piper_config(json, "voice.onnx.json");
  if (config) return "";
  CHECK(config.error().status == Status::kFormat);
  CHECK(config.error().message.find("voice.onnx.json: ") == 0);
  return config.error().message;
}

std::string error_with(const char* pointer, nlohmann::json value) {
  auto json = piper_json();
  json[nlohmann::json::json_pointer(pointer)] = std::move(value);
  return error_of(json.dump());
}

}  // namespace

TEST_CASE("a voice's own file is read", "[piper_config]") {
  auto json = piper_json();
  json["phoneme_id_map"]["x"] = {7, 8, 9};
  json["language"] = {{"code", "en_US"}};
  const auto config = parse_piper_config(json.dump(), "v");
  REQUIRE(config);
  CHECK(config->phoneme_type == "espeak");
  CHECK(config->voice == "en");
  CHECK(config->language == "en_US");
  REQUIRE(config->ids.find("x") != nullptr);
  CHECK(*config->ids.find("x") == timbre::frontend::Ids{7, 8, 9});
  CHECK(config->rules.begin == timbre::frontend::Ids{1, 0});
  CHECK(config->rules.after_symbol == timbre::frontend::Ids{0});
  CHECK(config->rules.end == timbre::frontend::Ids{2});
}

TEST_CASE("all but the id map may be missing", "[piper_config]") {
  const auto config = parse_piper_config(R"({"phoneme_id_map": {"_": [0], "^": [1], "$": [2]}})", "v");
  REQUIRE(config);
  CHECK(config->phoneme_type == "espeak");
  CHECK(config->voice.empty());
}

TEST_CASE("a voice without espeak.voice reads text in its language", "[piper_config]") {
  auto json = piper_json();
  json.erase("espeak");
  json["language"] = {{"code", "en_US"}};
  CHECK(parse_piper_config(json.dump(), "v")->voice == "en-us");
}

TEST_CASE("phoneme types are also written as Python prints them", "[piper_config]") {
  auto json = piper_json();
  json["phoneme_type"] = "PhonemeType.ESPEAK";
  CHECK(parse_piper_config(json.dump(), "v")->phoneme_type == "espeak");
  json["phoneme_type"] = "TEXT";
  CHECK(parse_piper_config(json.dump(), "v")->phoneme_type == "text");
}

TEST_CASE("ids above num_symbols are left to the model's own check", "[piper_config]") {
  auto json = piper_json();
  json["num_symbols"] = 20;
  CHECK(parse_piper_config(json.dump(), "v"));
}

TEST_CASE("bytes that are no JSON say what they look like", "[piper_config]") {
  CHECK(error_of("").find("an empty file") != std::string::npos);
  CHECK(error_of("<!DOCTYPE html><html>").find("HTML") != std::string::npos);
  CHECK(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:1").find("Git LFS") != std::string::npos);
  CHECK(error_of("[1, 2]").find("object was expected") != std::string::npos);
  CHECK(error_of("{\"phoneme_id_map\": {\"_\": [0").find("not JSON at byte") != std::string::npos);
  CHECK(error_of(std::string("{\"a\": \"\xff\"}")).find("not JSON") != std::string::npos);
  CHECK_FALSE(error_of(std::string(200'000, '[')).empty());
}

TEST_CASE("wrong types and values are errors that name the key", "[piper_config]") {
  const std::pair<std::string, const char*> cases[] = {
      {error_with("/phoneme_id_map", nullptr), "phoneme_id_map is missing"},
      {error_with("/phoneme_id_map", "abc"), "phoneme_id_map must be an object, found string"},
      {error_with("/phoneme_id_map/a", 5), "phoneme_id_map[\"a\"] must be a list of ids, found 5"},
      {error_with("/phoneme_id_map/a", {"5"}),
       "phoneme_id_map[\"a\"] must be a whole number of 0..2147483647, found string"},
      {error_with("/phoneme_id_map/a", {1.5}),
       "phoneme_id_map[\"a\"] must be a whole number of 0..2147483647, found 1.5"},
      {error_with("/phoneme_id_map/a", {true}),
       "phoneme_id_map[\"a\"] must be a whole number of 0..2147483647, found boolean"},
      {error_with("/phoneme_id_map/a", {-1}), "0..2147483647, found -1"},
      {error_with("/phoneme_id_map/a", {4294967296}), "0..2147483647, found 4294967296"},
      {error_with("/phoneme_id_map/a", {18446744073709551615U}), "found 18446744073709551615"},
      {error_with("/phoneme_id_map/a", std::vector<int>(65, 1)), "phoneme_id_map[\"a\"] has 65 ids"},
      {error_with("/phoneme_id_map/_", nlohmann::json::array()), "no \"_\""},
      {error_with("/phoneme_type", 3), "phoneme_type must be a string"},
      {error_with("/espeak", "en"), "espeak must be an object"},
      {error_with("/espeak/voice", 3), "espeak.voice must be a string, found 3"},
      {error_with("/language", 3), "language must be an object"},
      {error_with("/phoneme_map", 3), "phoneme_map must be an object"},
      {error_with("/phoneme_map", {{"a", "b"}}), "phoneme_map[\"a\"] must be a list of strings"},
      {error_with("/phoneme_map", {{"a", std::vector<std::string>(65, "b")}}), "phoneme_map[\"a\"] has 65 symbols"},
      {error_with("/vowel_clusters", nlohmann::json::array({{"a", 1, "b"}})),
       "vowel_clusters must be a list of strings"},
  };
  for (const auto& [found, wanted] : cases) {
    CAPTURE(wanted);
    CHECK_THAT(found, Catch::Contains(wanted));
  }
}

TEST_CASE("padding, begin and end are needed, and symbols have a sane length", "[piper_config]") {
  for (const char* symbol : {"_", "^", "$"}) {
    auto json = piper_json();
    json["phoneme_id_map"].erase(symbol);
    CHECK_THAT(error_of(json.dump()), Catch::Contains(std::string("no \"") + symbol));
  }
  auto json = piper_json();
  json["phoneme_id_map"][std::string(300, 'x')] = {1};
  CHECK_THAT(error_of(json.dump()), Catch::Contains("300 bytes"));
  json = piper_json();
  json["phoneme_id_map"][""] = {1};
  CHECK_THAT(error_of(json.dump()), Catch::Contains("0 bytes"));
}
