// SPDX-License-Identifier: MIT
//
// How a clause ended. espeak-ng 1.51 says where its next clause begins, but not what ended this one; the source
// characters at that place tell. Which characters end a clause and which of them Piper passes on as punctuation was
// measured code point by code point with Piper's own phonemizer (piper-tts 1.8.0).
#pragma once

#include <cstdint>
#include <string_view>

namespace timbre::espeak {

struct ClauseEnd {
  char32_t terminator = 0;  ///< one of . , ? ! : ; or 0
  bool ends_sentence = false;
  bool word_break = false;  ///< cut between two words because the clause grew too long
  std::size_t size = 0;     ///< bytes of the clause with its punctuation, without the spaces behind it
};

/// @param clause  the bytes from the clause's begin to the begin of the next one, spaces in between included.
/// @param next    what follows in the text; empty at its end.
ClauseEnd classify_clause_end(std::string_view clause, std::string_view next);

/// Bytes of `text` that espeak-ng can surely hold in one clause: it drops words beyond 300 or phonemes beyond 1,000 in
/// silence. All of `text` when that is little; else cut behind a word where there is one, else behind a character.
std::size_t safe_clause_size(std::string_view text);

}  // namespace timbre::espeak
