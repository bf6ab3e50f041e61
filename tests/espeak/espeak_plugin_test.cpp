// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "espeak_case.hpp"

using timbre::Status;
using timbre::test::clauses;
using timbre::test::espeak;
using timbre::test::joined_phonemes;

TEST_CASE("clauses have exact ranges although espeak-ng reads ahead", "[espeak]") {
  const auto all =
      clauses(*espeak(), "en-us", "  Hello there, Mr. Smith! \"Oh... no,\" he said.  \u00c9clair (yes). A");
  std::string seen;
  for (const auto& clause : all) seen += "<" + clause.source + ">" + clause.end;
  CHECK(seen == "<Hello there,>,<Mr.>.|<Smith!>!|<\"Oh...><no,>,<\" he said.>.|<\u00c9clair (yes).>.|<A>|");
}

TEST_CASE("the last letter of a text is spoken", "[espeak]") {
  const auto all = clauses(*espeak(), "en-us", "Hello! I");
  REQUIRE(all.size() == 2);
  CHECK(all[1].phonemes == "\u02c8a\u026a");
}

TEST_CASE("what a text becomes does not depend on the text before it", "[espeak]") {
  const auto phonemizer = espeak();
  const auto alone = joined_phonemes(clauses(*phonemizer, "en-us", "world"));
  for (const char* before : {"Hello, xylophone", "a.", "\".", "( ", "1,", "x ...", "\u4f60\u3002\u597d"}) {
    timbre::frontend::PhonemizerClause clause;
    std::uint64_t offset = 0;
    REQUIRE(phonemizer->next_clause("en-us", before, offset, clause));  // and leave it there
    CHECK(joined_phonemes(clauses(*phonemizer, "en-us", "world")) == alone);
  }
}

TEST_CASE("odd texts end, whatever they say", "[espeak]") {
  const auto phonemizer = espeak();
  CHECK(clauses(*phonemizer, "en-us", "").empty());
  for (const char* text : {" ", "   ", "\n", "\n\n\n", "...", ".", "?!?!", "\"", "()", "\u200b", "\u00a0"}) {
    CAPTURE(text);
    CHECK(joined_phonemes(clauses(*phonemizer, "en-us", text)).find("error") == std::string::npos);
  }
  for (const std::string unit : {"\U0001F600", ".", "?!", "\"", "[", "\u0301", "-", "\u4f60", "9", "<a>", "&amp;"}) {
    std::string text;
    while (text.size() < 20'000) text += unit;
    clauses(*phonemizer, "en-us", text);
  }
}

TEST_CASE("control and private characters are spaces to espeak-ng, not commands", "[espeak]") {
  const auto phonemizer = espeak();
  const auto plain = joined_phonemes(clauses(*phonemizer, "en-us", "hello   world"));
  using namespace std::string_view_literals;
  CHECK(joined_phonemes(clauses(*phonemizer, "en-us", "hello \0 world"sv)) == plain);
  CHECK(joined_phonemes(clauses(*phonemizer, "en-us", "hello \1 world"sv)) == plain);
  CHECK(joined_phonemes(clauses(*phonemizer, "en-us", "hello\uE03Cworld"sv)) == plain);
  clauses(*phonemizer, "en-us", "hello \1Vde there \1B1 you"sv);
  CHECK(joined_phonemes(clauses(*phonemizer, "en-us", "hello   world")) == plain);
}

TEST_CASE("no word of a long text is lost", "[espeak]") {
  const auto count = [](std::string_view text, std::string_view word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  const auto spoken = [](const char* unit, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += unit;
    return joined_phonemes(clauses(*espeak(), "en-us", text));
  };
  CHECK(count(spoken("777 ", 600), "h\u02c8\u028cnd\u0279\u026ad") == 600);
  CHECK(count(spoken("word ", 1000), "w\u02c8\u025c\u02d0d") == 1000);
  CHECK(count(spoken("1,2 ", 600), "w\u02c8\u028cn") == 600);
  CHECK(spoken("word ", 1000).find("dw") == std::string::npos);  // no two words run together
}

TEST_CASE("time grows with the text, not with its square", "[espeak][long]") {
  const auto seconds = [](std::size_t size) {
    std::string text;
    while (text.size() < size) text += "some words without any end ";
    const auto begin = std::chrono::steady_clock::now();
    clauses(*espeak(), "en-us", text);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds(20'000);
  const double small = seconds(100'000);
  CHECK(seconds(1'000'000) < 40 * small);  // linear is 10, square 100
}

TEST_CASE("eight threads with two languages each get their own", "[espeak]") {
  const auto phonemizer = espeak();
  const char* voices[] = {"en-us", "de"};
  const std::string text = "Hand in Hand, Wind und Sand. Die Made war warm!";
  std::string wanted[2];
  for (int i = 0; i < 2; ++i) wanted[i] = joined_phonemes(clauses(*phonemizer, voices[i], text));
  REQUIRE(wanted[0] != wanted[1]);
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        if (joined_phonemes(clauses(*phonemizer, voices[t % 2], text)) != wanted[t % 2]) ++wrong[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(8, 0));
}

TEST_CASE("voices are checked by name before espeak-ng sees them", "[espeak]") {
  const auto phonemizer = espeak();
  for (const char* voice : {"en-us", "de", "EN-US", "en-us+f3", "cmn", "pt-br"}) CHECK(phonemizer->check_voice(voice));
  for (const char* voice : {"", "xx", "../../etc/passwd", "en/../de", "+f3", "mb/mb-de1"}) {
    const auto refused = phonemizer->check_voice(voice);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == Status::kNotFound);
    timbre::frontend::PhonemizerClause clause;
    std::uint64_t offset = 0;
    CHECK(phonemizer->next_clause(voice, "hello", offset, clause).error().status == Status::kNotFound);
  }
  CHECK_FALSE(phonemizer->check_voice(std::string(100'000, 'e')));
  CHECK_FALSE(clauses(*phonemizer, "en-us", "hello").empty());
}
