// SPDX-License-Identifier: MIT
//
// The plug-in as libtimbre.so opens it, and its clauses in a form that is easy to compare.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "frontend/phonemizer.hpp"

namespace timbre::test {

inline std::shared_ptr<frontend::Phonemizer> espeak() {
  auto opened = frontend::Phonemizer::open(TIMBRE_ESPEAK_PLUGIN, "", "");
  if (!opened) FAIL(opened.error().message);
  return *opened;
}

struct SeenClause {
  std::string phonemes;
  std::string source;
  std::string end;  ///< terminator, then | at a sentence's end
};

/// Clauses without phonemes are left out. Uses no assertion, so that it may run on any thread.
inline std::vector<SeenClause> clauses(const frontend::Phonemizer& phonemizer, const std::string& voice,
                                       std::string_view text) {
  std::vector<SeenClause> all;
  frontend::PhonemizerClause clause;
  std::uint64_t offset = 0;
  for (;;) {
    auto more = phonemizer.next_clause(voice, text, offset, clause);
    if (!more) return {{more.error().message, "", "error"}};
    if (!*more) return all;
    if (clause.phonemes.empty()) continue;
    std::string end;
    if (clause.terminator != 0) end += static_cast<char>(clause.terminator);
    if (clause.ends_sentence) end += '|';
    all.push_back(
        {clause.phonemes, std::string(text.substr(clause.source_begin, clause.source_end - clause.source_begin)), end});
  }
}

inline std::string joined_phonemes(const std::vector<SeenClause>& all) {
  std::string out;
  for (const auto& clause : all) out += clause.phonemes + clause.end;
  return out;
}

}  // namespace timbre::test
