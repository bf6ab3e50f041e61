// SPDX-License-Identifier: MIT
//
// EspeakLibrary: the machine's libespeak-ng, opened at run time.
//
// timbre ships and links nothing of espeak-ng: the few functions that are called are declared here from its documented
// interface, and looked up by name.
//
// Invariants
//   * The library is never unloaded and never terminated: it starts a thread of its own, and its state is one for the
//     whole process.
#pragma once

#include <string>

#include "timbre/core/result.hpp"

namespace timbre::espeak {

/// What espeak_ListVoices describes, as far as it is read here.
struct EspeakVoice {
  const char* name;
  const char* languages;   ///< repeated: one byte of priority, a name, a zero; then a zero
  const char* identifier;  ///< file below the voices or lang folder
};

struct EspeakLibrary {
  void (*initialize_path)(const char* path) = nullptr;
  int (*initialize)(void** error_context) = nullptr;
  void (*clear_error_context)(void** error_context) = nullptr;
  int (*set_voice_by_name)(const char* name) = nullptr;
  const char* (*info)(const char** data_path) = nullptr;
  const EspeakVoice* const* (*list_voices)(const void* specification) = nullptr;
  const EspeakVoice* (*current_voice)() = nullptr;
  const char* (*text_to_phonemes)(const void** text, int text_mode, int phoneme_mode) = nullptr;

  std::string path;  ///< the file that was opened, as the loader knows it

  static constexpr int kTextUtf8 = 1;     ///< espeakCHARS_UTF8
  static constexpr int kPhonemesIpa = 2;  ///< espeakPHONEMES_IPA
};

/// Opens the library. @param file  null for the machine's libespeak-ng. kNotFound when there is none, kIncompatible
/// when it lacks a function.
Result<EspeakLibrary> open_espeak_library(const char* file);

}  // namespace timbre::espeak
