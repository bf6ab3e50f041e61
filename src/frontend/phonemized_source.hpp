// SPDX-License-Identifier: MIT
//
// PhonemizedSource: VitsTokenizer with "phonemize", as vits-ljs and vits-vctk have it. Punctuation stays as it stands,
// what lies between becomes espeak-ng's en-us phonemes with stress, and white space is one space.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "frontend/character_config.hpp"
#include "frontend/phonemizer.hpp"
#include "frontend/symbol_source.hpp"

namespace timbre::frontend {

class PhonemizedSource final : public SymbolSource {
 public:
  /// The voice that VitsTokenizer asks for, whatever the language of the model.
  static constexpr const char* kVoice = "en-us";

  PhonemizedSource(const CharacterConfig& config, std::shared_ptr<Phonemizer> phonemizer, std::string_view text)
      : config_(config), phonemizer_(std::move(phonemizer)), text_(text) {}
  Result<Step> step(SequenceBuilder& builder) override;

 private:
  void write(std::string_view symbols, SourceRange range, SequenceBuilder& builder);
  void begin_chunk();
  Result<void> write_clause(SequenceBuilder& builder);

  const CharacterConfig& config_;
  const std::shared_ptr<Phonemizer> phonemizer_;
  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t chunk_end_ = 0;  // of what is being phonemised; not more than at_ when nothing is
  std::string chunk_;          // text_[at_, chunk_end_) in the case that the tokenizer gives it
  std::uint64_t chunk_at_ = 0;
  bool chunk_begun_ = false;
  bool after_space_ = false;
  PhonemizerClause clause_;
};

}  // namespace timbre::frontend
