// SPDX-License-Identifier: MIT
//
// The plug-in as a guest: what it needs, what it refuses and what it leaves alone.
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "espeak/espeak_session.hpp"
#include "espeak_case.hpp"

using timbre::Status;
using timbre::frontend::Phonemizer;
using timbre::test::clauses;
using timbre::test::espeak;
using timbre::test::joined_phonemes;

namespace fs = std::filesystem;

namespace {

/// What `body` writes to standard output and error.
template <typename Body>
std::string printed_by(Body&& body) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(nullptr);
  const int out = dup(1);
  const int err = dup(2);
  dup2(fileno(file), 1);
  dup2(fileno(file), 2);
  body();
  std::fflush(nullptr);
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

std::string ctype() { return setlocale(LC_CTYPE, nullptr); }

}  // namespace

TEST_CASE("missing libraries and data folders are errors, print nothing and leave the next open alone", "[host]") {
  const std::string before = ctype();
  const std::string printed = printed_by([&] {
    const auto library = Phonemizer::open(TIMBRE_ESPEAK_PLUGIN, "/no/such/libespeak-ng.so", "");
    const auto data = Phonemizer::open(TIMBRE_ESPEAK_PLUGIN, "", "/no/such/folder");
    CHECK_FALSE(library);
    REQUIRE_FALSE(data);
    CHECK((data.error().status == Status::kNotFound || data.error().status == Status::kIncompatible));
    CHECK_THAT(data.error().message, Catch::Contains("/no/such/folder"));
    const auto phonemizer = espeak();
    CHECK_FALSE(phonemizer->check_voice("xx"));
    clauses(*phonemizer, "en-us", "Hello, world. \xF0\x9F\x98\x80 \x01Vxx ???");
    clauses(*phonemizer, "fr-fr", "Bonjour, le monde.");
  });
  CHECK(printed.empty());
  CHECK(ctype() == before);
}

TEST_CASE("a voice that someone else changed is chosen again", "[host]") {
  const auto phonemizer = espeak();
  const std::string text = "Hand in Hand, Wind und Sand.";
  const std::string wanted = joined_phonemes(clauses(*phonemizer, "en-us", text));
  const auto other = timbre::espeak::EspeakSession::open(nullptr, nullptr);  // another copy of the plug-in's code
  REQUIRE(other);
  CHECK(joined_phonemes(clauses(*phonemizer, "en-us", text)) == wanted);
  REQUIRE((*other)->next_clause("de", text));
  CHECK(joined_phonemes(clauses(*phonemizer, "en-us", text)) == wanted);
}

TEST_CASE("one data folder serves the process, and another one is refused", "[host]") {
  using timbre::espeak::EspeakSession;
  const auto first = EspeakSession::open(nullptr, nullptr);
  REQUIRE(first);
  const auto again = EspeakSession::open(nullptr, nullptr);
  REQUIRE(again);
  CHECK(*first == *again);

  const fs::path other = fs::temp_directory_path() / ("timbre-espeak-" + std::to_string(getpid()));
  fs::create_directories(other);
  for (const char* file : {"phontab", "phonindex", "phondata", "intonations"}) std::ofstream(other / file) << "x";
  const auto refused = EspeakSession::open(nullptr, other.c_str());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::kIncompatible);
  CHECK_THAT(refused.error().message, Catch::Contains(other.string()));
  fs::remove_all(other);
}

TEST_CASE("phonemes are the same in every locale of the host", "[host]") {
  const auto phonemizer = espeak();
  const std::string text = "Na\u00efve caf\u00e9, 3.14 and 1,000. \u00c9lan!";
  const std::string saved = setlocale(LC_ALL, nullptr);
  setlocale(LC_ALL, "C");
  const std::string plain = joined_phonemes(clauses(*phonemizer, "en-us", text));
  for (const char* name : {"C.UTF-8", "de_DE.UTF-8", "de_DE", "tr_TR.UTF-8"}) {
    if (setlocale(LC_ALL, name) == nullptr) continue;
    const std::string before = setlocale(LC_ALL, nullptr);
    CHECK(joined_phonemes(clauses(*phonemizer, "de", text)) != plain);
    CHECK(joined_phonemes(clauses(*phonemizer, "en-us", text)) == plain);
    CHECK(setlocale(LC_ALL, nullptr) == before);
  }
  setlocale(LC_ALL, saved.c_str());
}

TEST_CASE("the host's signal mask and working folder stay", "[host]") {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const fs::path folder = fs::current_path();
  clauses(*espeak(), "en-us", "hello");
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) CHECK(sigismember(&before, signal) == sigismember(&after, signal));
  CHECK(fs::current_path() == folder);
}
