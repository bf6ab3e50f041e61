// SPDX-License-Identifier: MIT
//
// CharacterConfig: what the tokenizer files of a Hugging Face VITS folder say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/sequence_builder.hpp"
#include "frontend/symbol_map.hpp"

namespace timbre::frontend {

/// A file's bytes and its name for messages; no bytes when the folder has no such file.
struct NamedText {
  std::string_view text;
  std::string_view where;
};

struct CharacterFiles {
  NamedText vocab;               ///< vocab.json, needed: {token: id}
  NamedText tokenizer_config;    ///< tokenizer_config.json
  NamedText added_tokens;        ///< added_tokens.json: {token: id}
  NamedText special_tokens_map;  ///< special_tokens_map.json: read for its form only
};

struct CharacterConfig {
  SymbolMap ids;     ///< vocab.json
  SymbolMap tokens;  ///< that and the added tokens: what keeps its case
  SequenceRules rules;
  std::string language;  ///< "eng", "ron" ...; may be empty
  bool add_blank = true;
  bool normalize = true;
  bool phonemize = true;
  bool is_uroman = false;
};

/// Reads them; what is missing has VitsTokenizer's defaults. kFormat names file and key.
Result<CharacterConfig> parse_character_config(const CharacterFiles& files);

}  // namespace timbre::frontend
