// SPDX-License-Identifier: MIT
//
// Piper's front end: text by espeak-ng phonemes ("espeak") or by its characters ("text"), phoneme strings for every
// voice. What becomes of a text is written in docs/text.md.
#pragma once

#include <memory>
#include <string_view>

#include "frontend/front_end.hpp"
#include "frontend/phonemizer.hpp"

namespace timbre::frontend {

/// @param json      the voice's .onnx.json.
/// @param where     its name, for messages.
/// @param provider  asked when a text first needs phonemes; may be empty, then such a text is kNotFound.
/// @return kFormat for a file that is not as it should be, naming file and key.
Result<std::unique_ptr<FrontEnd>> make_piper_front_end(std::string_view json, std::string_view where,
                                                       PhonemizerProvider provider);

}  // namespace timbre::frontend
