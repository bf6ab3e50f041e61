// SPDX-License-Identifier: MIT
#include "espeak/clause_end.hpp"

#include <catch2/catch.hpp>
#include <string>

using timbre::espeak::classify_clause_end;
using timbre::espeak::safe_clause_size;

namespace {

// The terminator, then | where a sentence ends and _ where two words were parted.
std::string seen(std::string_view clause, std::string_view next) {
  const auto end = classify_clause_end(clause, next);
  std::string out;
  if (end.terminator != 0) out += static_cast<char>(end.terminator);
  if (end.ends_sentence) out += '|';
  if (end.word_break) out += '_';
  return out;
}

}  // namespace

TEST_CASE("a mark before a space, a bracket or the end is the terminator", "[clause_end]") {
  CHECK(seen("Hello, ", "there") == ",");
  CHECK(seen("Hello. ", "There") == ".|");
  CHECK(seen("Hello.", "\" he") == ".|");
  CHECK(seen("Hello?", "") == "?|");
  CHECK(seen("Hello! ", "x") == "!|");
  CHECK(seen("a: ", "b") == ":");
  CHECK(seen("a; ", "b") == ";");
  CHECK(seen("a — ", "b") == ";");
}

TEST_CASE("the first of a run of marks decides", "[clause_end]") {
  CHECK(seen("What?! ", "No") == "?|");
  CHECK(seen("What!?!? ", "No") == "!|");
  CHECK(seen("a.m.? ", "Yes") == ".|");
  CHECK(seen("so.. ", "Yes") == ".|");
}

TEST_CASE("an ellipsis ends a clause without punctuation", "[clause_end]") {
  CHECK(seen("Wait... ", "what").empty());
  CHECK(seen("Wait.....", "what").empty());
  CHECK(seen("Wait\u2026 ", "What").empty());
}

TEST_CASE("marks of other scripts end what they end", "[clause_end]") {
  CHECK(seen("\u4f60\u597d\u3002", "\u4f60") == "|");
  CHECK(seen("\u4f60\u597d\u3001", "\u4f60").empty());
  CHECK(seen("\u0643\u064a\u0641\u061f ", "\u0623") == "?|");
  CHECK(seen("\u0928\u0964 ", "\u0906") == "|");
  CHECK(seen("\u0646\u0639\u0645\u060c ", "x") == ",");
}

TEST_CASE("a blank line ends a sentence without punctuation", "[clause_end]") {
  CHECK(seen("One.\n\n", "Two") == "|");
  CHECK(seen("One,\r\n \r\n", "Two") == "|");
  CHECK(seen("One.\n", "Two") == ".|");
}

TEST_CASE("a clause that was only too long has no terminator", "[clause_end]") {
  CHECK(seen("one two ", "three") == "_");
  CHECK(seen("one two", "three").empty());
  CHECK(seen("1,", "000").empty());
  CHECK(seen("example.", "com").empty());
  CHECK(seen("the end", "") == "|");
}

TEST_CASE("marks without a word end nothing", "[clause_end]") {
  CHECK(seen("...", "") == "|");
  CHECK(seen("- . ", "x") == "_");
  CHECK(seen("   ", "") == "|");
  CHECK(seen("", "") == "|");
}

TEST_CASE("the clause's own size is without the spaces behind it", "[clause_end]") {
  CHECK(classify_clause_end("Hello.  \n", "x").size == 6);
  CHECK(classify_clause_end("\u4f60\u3002", "x").size == 6);
}

TEST_CASE("ordinary text is not cut before espeak-ng cuts it", "[clause_end]") {
  std::string text;
  while (text.size() < 760) text += "ordinary words of some length ";
  CHECK(safe_clause_size(text) == text.size());
}

TEST_CASE("numbers and single letters are cut early, between words", "[clause_end]") {
  for (const std::string word : {"777 ", "w ", "@ ", "A1 "}) {
    std::string text;
    while (text.size() < 4000) text += word;
    const std::size_t size = safe_clause_size(text);
    CHECK(size < 700);
    CHECK(size % word.size() == 0);
  }
}

TEST_CASE("a text of any kind is cut at a whole character and moves on", "[clause_end]") {
  for (const std::string unit : {"a", "\u00e9", "\u4f60", "\U0001F600", " ", "\n", ".", "a\u0301"}) {
    std::string text;
    while (text.size() < 50'000) text += unit;
    const std::size_t size = safe_clause_size(text);
    CHECK(size > 0);
    CHECK(size <= 4100);
    CHECK((size == text.size() || (static_cast<unsigned char>(text[size]) & 0xC0U) != 0x80U));
  }
}
