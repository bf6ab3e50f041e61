// SPDX-License-Identifier: MIT
//
// The Hugging Face VitsTokenizer: the characters of a text are its tokens, with a blank (id 0) around each.
//
// Differences from VitsTokenizer: a text is split when it has more ids than one run takes; characters that are dropped
// are counted; characters for which the vocabulary has no id never become an id outside of the embedding.
#pragma once

#include <memory>

#include "frontend/character_config.hpp"
#include "frontend/front_end.hpp"
#include "frontend/phonemizer.hpp"

namespace timbre::frontend {

/// @param provider  asked when a tokenizer with "phonemize" first meets text; may be empty, then that is kNotFound.
/// @return kFormat for a file that is not as it should be, naming file and key.
Result<std::unique_ptr<FrontEnd>> make_character_front_end(const CharacterFiles& files, PhonemizerProvider provider);

}  // namespace timbre::frontend
