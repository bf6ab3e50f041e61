// SPDX-License-Identifier: MIT
//
// PhonemeWriter: phonemes to ids by a Piper voice's maps. One for each text; it holds the code points of an unfinished
// cluster, nothing else.
#pragma once

#include <string>
#include <string_view>

#include "frontend/piper_config.hpp"

namespace timbre::frontend {

class PhonemeWriter {
 public:
  explicit PhonemeWriter(const PiperConfig& config) : config_(config) {}

  /// Phonemes as a phonemizer writes them: brought to NFD, then code point by code point (clusters as one).
  void write_decomposed(std::string_view phonemes, SourceRange range, SequenceBuilder& builder) const;

  /// Phonemes as a person writes them. A code point that the voice knows stays as it is, any other is brought to NFD.
  /// Voices with a front end of their own (pinyin ...) take the longest symbol that they know.
  void write_raw(std::string_view phonemes, SourceRange range, SequenceBuilder& builder) const;

 private:
  [[nodiscard]] std::size_t symbol_size(std::string_view text) const;
  void write_symbol(std::string_view symbol, SourceRange range, SequenceBuilder& builder) const;
  void look_up(std::string_view symbol, SourceRange range, SequenceBuilder& builder) const;

  const PiperConfig& config_;
};

}  // namespace timbre::frontend
