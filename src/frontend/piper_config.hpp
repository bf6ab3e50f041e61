// SPDX-License-Identifier: MIT
//
// PiperConfig: what of a voice's .onnx.json decides how text becomes ids.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/sequence_builder.hpp"
#include "frontend/symbol_map.hpp"

namespace timbre::frontend {

struct PiperConfig {
  std::string phoneme_type = "espeak";  ///< lower case, without a "PhonemeType." before it
  std::string voice;                    ///< espeak's voice; empty if the file names none
  std::string language;                 ///< language code, else the voice
  SymbolMap ids;                        ///< phoneme_id_map
  SequenceRules rules;                  ///< from its _ ^ $
  std::unordered_map<std::string, std::vector<std::string>> replacements;  ///< phoneme_map
  SymbolMap clusters;  ///< vowel_clusters: code points that count as one phoneme; only the names matter
};

/// Reads it. @param where  the file's name for messages. kFormat names the file and the key.
Result<PiperConfig> parse_piper_config(std::string_view json, std::string_view where);

}  // namespace timbre::frontend
