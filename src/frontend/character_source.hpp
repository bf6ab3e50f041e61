// SPDX-License-Identifier: MIT
//
// CharacterSource: VitsTokenizer without phonemes. Each character is a token. With "normalize", what is no token is
// brought to lower case, and what is none even then is dropped and counted; without it, it becomes <unk>. A token of
// several characters is taken as a whole where its characters are no tokens themselves.
#pragma once

#include <string>
#include <string_view>

#include "frontend/character_config.hpp"
#include "frontend/symbol_source.hpp"

namespace timbre::frontend {

class CharacterSource final : public SymbolSource {
 public:
  CharacterSource(const CharacterConfig& config, std::string_view text) : config_(config), text_(text) {}
  Result<Step> step(SequenceBuilder& builder) override;

 private:
  void write_next(SequenceBuilder& builder);
  void write_characters(std::string_view characters, SequenceBuilder& builder);
  void write_known(std::string_view symbol, const Ids& ids, SequenceBuilder& builder);
  void write_unknown(std::string_view symbol, SequenceBuilder& builder);
  [[nodiscard]] bool all_known(std::string_view characters) const;
  [[nodiscard]] SourceRange word_at(std::size_t at);

  const CharacterConfig& config_;
  const std::string_view text_;
  std::size_t at_ = 0;
  SourceRange word_;
  bool begun_ = false;
  std::string spaces_;  // seen, and written only if something follows: the text is stripped
  SourceRange spaces_range_;
};

/// The text in the case that VitsTokenizer gives it: lower where it is no token.
[[nodiscard]] std::string with_token_case(const CharacterConfig& config, std::string_view text);

/// True if the text, in that case, has characters that only uroman could bring to ASCII.
[[nodiscard]] bool needs_uroman(const CharacterConfig& config, std::string_view text);

}  // namespace timbre::frontend
