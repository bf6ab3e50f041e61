// SPDX-License-Identifier: MIT
//
// EspeakSession: espeak-ng as this process has it, one text clause at a time.
//
// Invariants
//   * One for the process, made at the first open and never destroyed: espeak-ng's state is global. All work is done
//     under one lock, and the voice is chosen under the same lock, so that callers with several languages mix freely.
//   * What a clause becomes depends on its text and voice only, not on other callers: the character that espeak-ng
//     reads ahead is taken back out of it before each clause.
//   * The host's locale is as it was, nothing is printed, and the thread that espeak-ng starts blocks every signal.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "espeak/clause_end.hpp"
#include "espeak/espeak_library.hpp"
#include "timbre/core/result.hpp"

namespace timbre::espeak {

struct Clause {
  std::string phonemes;  ///< IPA, without the terminator
  ClauseEnd end;
  std::size_t consumed = 0;  ///< bytes up to the next clause
};

class EspeakSession {
 public:
  /// The process's session. A library or data folder other than that of the first call is kIncompatible; null takes
  /// what is open already, else the machine's.
  static Result<EspeakSession*> open(const char* library, const char* data_path);

  /// kNotFound when espeak-ng has no voice or language of this name.
  Result<void> check_voice(std::string_view voice);

  /// The first clause of `text`, which is not empty and valid UTF-8.
  Result<Clause> next_clause(std::string_view voice, std::string_view text);

 private:
  explicit EspeakSession(EspeakLibrary library) : library_(std::move(library)) {}

  static Result<EspeakSession*> start(const char* library, const char* data_path);
  Result<void> initialize(const std::string& data_folder);
  Result<void> select_voice(std::string_view voice);
  [[nodiscard]] std::string voice_in_use() const;
  void drop_read_ahead();

  const EspeakLibrary library_;
  std::string data_folder_;          // set once, before the session is shared
  std::vector<std::string> voices_;  // names and languages in lower case, sorted; set once likewise

  std::mutex mutex_;          // guards espeak-ng itself and what follows
  std::string current_;       // the voice that was asked for last
  std::string current_name_;  // what espeak-ng calls it; another name there means that someone else changed it
  std::string buffer_;
};

}  // namespace timbre::espeak
