// SPDX-License-Identifier: MIT
//
// A phonemizer plug-in that needs nothing: phonemes are the characters of the text, clauses end at . , ? ! : ; before a
// space or the end. The voice "flags" wraps each clause in language flags, "fails" fails, "lies" leaves the text.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "frontend/phonemizer.hpp"

namespace timbre::test {

inline timbre_status fake_open(const char*, const char*, void** out_self, char*, std::uint64_t) {
  static int self = 0;
  *out_self = &self;
  return TIMBRE_OK;
}

inline timbre_status fake_check_voice(void*, const char* voice, char* error, std::uint64_t capacity) {
  for (const char* known : {"en", "flags", "fails", "lies", "en-us"}) {
    if (std::strcmp(voice, known) == 0) return TIMBRE_OK;
  }
  std::snprintf(error, capacity, "no voice %s", voice);
  return TIMBRE_ERR_NOT_FOUND;
}

inline timbre_status fake_next_clause(void*, const char* voice, const char* text, std::uint64_t size,
                                      std::uint64_t* offset, timbre_clause* out, char* error, std::uint64_t capacity) {
  const std::string_view all(text, size);
  if (*offset == size) return TIMBRE_DONE;
  if (std::strcmp(voice, "fails") == 0) {
    std::snprintf(error, capacity, "it fails");
    return TIMBRE_ERR_INTERNAL;
  }
  std::size_t end = *offset;
  std::uint32_t terminator = 0;
  for (; end < size && terminator == 0 && end - *offset < 800; ++end) {
    const bool last = end + 1 == size || all[end + 1] == ' ';
    if (last && std::strchr(".,?!:;", all[end]) != nullptr) terminator = static_cast<unsigned char>(all[end]);
  }
  std::string phonemes(all.substr(*offset, end - *offset - (terminator != 0 ? 1 : 0)));
  if (std::strcmp(voice, "flags") == 0) phonemes = "(fr)" + phonemes + "(en)";
  out->phonemes_size = phonemes.size();
  if (phonemes.size() > out->phonemes_capacity) return TIMBRE_OK;
  std::memcpy(out->phonemes, phonemes.data(), phonemes.size());
  out->terminator = terminator;
  out->ends_sentence = terminator == '.' || terminator == '?' || terminator == '!' ? 1 : 0;
  out->source_begin = *offset;
  out->source_end = std::strcmp(voice, "lies") == 0 ? size + 1 : end;
  while (end < size && terminator != 0 && all[end] == ' ') ++end;
  *offset = end;
  return TIMBRE_OK;
}

inline constexpr timbre_phonemizer kFakePhonemizer = {sizeof(timbre_phonemizer), TIMBRE_PHONEMIZER_ABI, fake_open,
                                                      fake_check_voice,          fake_next_clause,      [](void*) {}};

/// Counts how often it is asked.
struct FakeProvider {
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  Result<std::shared_ptr<frontend::Phonemizer>> operator()() const {
    ++*calls;
    return frontend::Phonemizer::wrap(&kFakePhonemizer, "fake", "", "");
  }
};

}  // namespace timbre::test
