// SPDX-License-Identifier: MIT
//
// TextSource: Piper's phoneme_type "text": the characters of the text are the phonemes. Case-folded and in NFD; where
// the voice knows a character only as it stands, it is kept so.
//
// A sentence ends behind . ? ! and their relatives in other scripts when white space follows.
#pragma once

#include <string_view>

#include "frontend/phoneme_writer.hpp"
#include "frontend/symbol_source.hpp"

namespace timbre::frontend {

class TextSource final : public SymbolSource {
 public:
  TextSource(const PiperConfig& config, std::string_view text) : config_(config), writer_(config), text_(text) {}
  Result<Step> step(SequenceBuilder& builder) override;

 private:
  void write_character(std::string_view character, SourceRange range, SequenceBuilder& builder) const;
  [[nodiscard]] bool known(std::string_view phonemes) const;

  const PiperConfig& config_;
  const PhonemeWriter writer_;
  const std::string_view text_;
  std::size_t at_ = 0;
};

/// True if `word` ends with a sentence mark, closing quotes and brackets behind it allowed.
[[nodiscard]] bool ends_with_sentence_mark(std::string_view word);

}  // namespace timbre::frontend
