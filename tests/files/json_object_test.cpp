// SPDX-License-Identifier: MIT
#include "files/json_object.hpp"

#include <catch2/catch.hpp>

using timbre::Status;
using timbre::files::JsonObject;

namespace {

std::string refusal(std::string_view text) {
  auto json = JsonObject::parse(text, "x.json");
  if (json) return "";
  CHECK(json.error().status == Status::kFormat);
  return json.error().message;
}

JsonObject object(std::string_view text) {
  auto json = JsonObject::parse(text, "x.json");
  REQUIRE(json);
  return *json;
}

std::string fault(const JsonObject& json) {
  const auto result = json.result();
  return result ? "" : result.error().message;
}

}  // namespace

TEST_CASE("text that is no JSON object says where it breaks or what it is", "[json_object]") {
  CHECK(refusal("") == "x.json: this is an empty file, not JSON");
  CHECK(refusal("<html>") == "x.json: this is an HTML or XML page, not JSON");
  CHECK(refusal("{\"a\": ") == "x.json: not JSON at byte 6 of 6 (cut or damaged?)");
  CHECK(refusal("{\"a\": \"\xff\"}") == "x.json: not JSON at byte 8 of 10 (cut or damaged?)");
  CHECK_THAT(refusal("{\"a\": 1e999}"), Catch::StartsWith("x.json: not JSON that can be read: "));
  CHECK(refusal("[1, 2]") == "x.json: a JSON object was expected, found array");
  CHECK(refusal("3") == "x.json: a JSON object was expected, found number");
}

TEST_CASE("deep nesting is refused, whether it is closed or not", "[json_object]") {
  std::string closed = "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}";
  CHECK(refusal(closed) == "x.json: JSON nested deeper than 64");
  CHECK(refusal(std::string(200'000, '[')) == "x.json: JSON nested deeper than 64");
  CHECK(refusal("{\"a\":" + std::string(60, '[') + std::string(60, ']') + "}").empty());
}

TEST_CASE("values are read, and what is missing or null is its fallback", "[json_object]") {
  JsonObject json = object(R"({"a": 3, "b": 3.0, "c": 0.5, "d": true, "e": "x", "f": null, "g": {"h": 7}, "i": [1, 2],
                               "j": [[1], [2, 3]]})");
  CHECK(json.integer("a", 0, 0, 10) == 3);
  CHECK(json.integer("b", 0, 0, 10) == 3);
  CHECK(json.integer("f", 5, 0, 10) == 5);
  CHECK(json.integer("missing", 6, 0, 10) == 6);
  CHECK(json.number("c", 0, 0, 1) == 0.5);
  CHECK(json.boolean("d", false));
  CHECK(json.text("e", "") == "x");
  CHECK(json.text("f", "y") == "y");
  CHECK_FALSE(json.contains("f"));
  CHECK(json.object("g").integer("h", 0, 0, 10) == 7);
  CHECK(json.object("missing").integer("h", 8, 0, 10) == 8);
  CHECK(json.integers("i", 0, 10) == std::vector<std::int64_t>{1, 2});
  CHECK(json.integer_lists("j", 0, 10) == std::vector<std::vector<std::int64_t>>{{1}, {2, 3}});
  CHECK(fault(json).empty());
}

TEST_CASE("a wrong value reads as its fallback and is told by file, key, wish and find", "[json_object]") {
  const auto told = [](const char* value, auto read) {
    JsonObject json = object("{\"k\": " + std::string(value) + "}");
    read(json);
    return fault(json);
  };
  const auto integer = [](JsonObject& json) { CHECK(json.integer("k", 5, 1, 9) == 5); };
  CHECK(told("10", integer) == "x.json: k must be a whole number of 1..9, found 10");
  CHECK(told("1.5", integer) == "x.json: k must be a whole number of 1..9, found 1.5");
  CHECK(told("1e300", integer) == "x.json: k must be a whole number of 1..9, found 1e+300");
  CHECK(told("18446744073709551615", integer) ==
        "x.json: k must be a whole number of 1..9, found 18446744073709551615");
  CHECK(told("\"1\"", integer) == "x.json: k must be a whole number of 1..9, found string");
  const auto number = [](JsonObject& json) { CHECK(json.number("k", 0.5, 1e-3, 100) == 0.5); };
  CHECK(told("0", number) == "x.json: k must be a number of 0.001..100, found 0");
  CHECK(told("[]", number) == "x.json: k must be a number of 0.001..100, found array");
  CHECK(told("1", [](JsonObject& json) { CHECK(json.boolean("k", true)); }) ==
        "x.json: k must be true or false, found 1");
  CHECK(told("true", [](JsonObject& json) { CHECK(json.text("k", "f") == "f"); }) ==
        "x.json: k must be a string, found boolean");
  CHECK(told("[]", [](JsonObject& json) { CHECK(json.object("k").value().empty()); }) ==
        "x.json: k must be an object, found array");
  CHECK(told("[]", [](JsonObject& json) { CHECK(json.integers("k", 0, 9).empty()); }) ==
        "x.json: k must be a list of 1..64 whole numbers");
  CHECK(told("[1, 10]", [](JsonObject& json) { (void)json.integers("k", 0, 9); }) ==
        "x.json: k must be a whole number of 0..9, found 10");
  CHECK(told("[[]]", [](JsonObject& json) { (void)json.integer_lists("k", 0, 9); }) ==
        "x.json: k must be a list of 1..64 whole numbers");
  CHECK(told("[1]", [](JsonObject& json) { (void)json.read_texts(json.value()["k"], "k"); }) ==
        "x.json: k must be a list of strings, found 1");
  CHECK(told("0", [](JsonObject& json) { CHECK(json.required_integer("other", 2, 9) == 2); }) ==
        "x.json: other is missing");
}

TEST_CASE("the first fault of a file stays, also one of an object inside", "[json_object]") {
  JsonObject json = object(R"({"audio": {"rate": "x"}, "b": "y"})");
  {
    JsonObject audio = json.object("audio");
    CHECK(audio.integer("rate", 1, 0, 9) == 1);
  }
  CHECK(json.integer("b", 2, 0, 9) == 2);
  CHECK(fault(json) == "x.json: audio.rate must be a whole number of 0..9, found string");
}
