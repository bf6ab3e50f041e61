// SPDX-License-Identifier: MIT
//
// The plug-in's table: c/sys/phonemizer.h on EspeakSession. Exceptions (no memory) end here.
#include <algorithm>
#include <cstring>
#include <new>

#include "espeak/espeak_session.hpp"
#include "timbre/c/sys/phonemizer.h"

namespace {

using timbre::Error;
using timbre::Result;
using timbre::Status;
using timbre::espeak::Clause;
using timbre::espeak::EspeakSession;

timbre_status report(const Error& error, char* out, std::uint64_t capacity) {
  if (out != nullptr && capacity > 0) {
    const std::size_t size = std::min<std::uint64_t>(error.message.size(), capacity - 1);
    std::memcpy(out, error.message.data(), size);
    out[size] = '\0';
  }
  return static_cast<timbre_status>(error.status);
}

template <typename Body>
timbre_status guarded(char* error, std::uint64_t capacity, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return report(Error{Status::kOutOfMemory, "no memory for the phonemizer"}, error, capacity);
  } catch (...) {
    return report(Error{Status::kInternal, "unexpected exception in the phonemizer"}, error, capacity);
  }
}

timbre_status open(const char* library, const char* data_path, void** out_self, char* error, std::uint64_t capacity) {
  return guarded(error, capacity, [&] {
    auto session = EspeakSession::open(library, data_path);
    if (!session) return report(session.error(), error, capacity);
    *out_self = *session;
    return TIMBRE_OK;
  });
}

timbre_status check_voice(void* self, const char* voice, char* error, std::uint64_t capacity) {
  return guarded(error, capacity, [&] {
    auto known = static_cast<EspeakSession*>(self)->check_voice(voice);
    return known ? TIMBRE_OK : report(known.error(), error, capacity);
  });
}

void fill(const Clause& clause, std::string_view text, std::uint64_t offset, timbre_clause& out) {
  const std::size_t spaces = std::min(text.find_first_not_of(" \t\r\n"), clause.end.size);
  out.terminator = static_cast<std::uint32_t>(clause.end.terminator);
  out.ends_sentence = clause.end.ends_sentence ? 1 : 0;
  out.source_begin = offset + spaces;
  out.source_end = offset + clause.end.size;
}

timbre_status next_clause(void* self, const char* voice, const char* text, std::uint64_t text_bytes,
                          std::uint64_t* inout_offset, timbre_clause* inout_clause, char* error,
                          std::uint64_t capacity) {
  return guarded(error, capacity, [&] {
    if (inout_clause->struct_size < sizeof(timbre_clause) || *inout_offset > text_bytes) {
      return report(Error{Status::kInvalidArgument, "clause of another size, or an offset behind the text"}, error,
                    capacity);
    }
    if (*inout_offset == text_bytes) return TIMBRE_DONE;
    const auto rest = std::string_view(text, text_bytes).substr(*inout_offset);
    auto clause = static_cast<EspeakSession*>(self)->next_clause(voice, rest);
    if (!clause) return report(clause.error(), error, capacity);
    if (clause->end.word_break && !clause->phonemes.empty()) clause->phonemes += ' ';
    inout_clause->phonemes_size = clause->phonemes.size();
    if (clause->phonemes.size() > inout_clause->phonemes_capacity) return TIMBRE_OK;
    std::memcpy(inout_clause->phonemes, clause->phonemes.data(), clause->phonemes.size());
    fill(*clause, rest, *inout_offset, *inout_clause);
    *inout_offset += clause->consumed;
    return TIMBRE_OK;
  });
}

// The session belongs to the process.
void close(void*) {}

constexpr timbre_phonemizer kTable = {
    sizeof(timbre_phonemizer), TIMBRE_PHONEMIZER_ABI, open, check_voice, next_clause, close};

}  // namespace

extern "C" TIMBRE_API const timbre_phonemizer* timbre_phonemizer_v1() { return &kTable; }
