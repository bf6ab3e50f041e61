// SPDX-License-Identifier: MIT
//
// Which front end reads the text of a model: decided by the configuration files that came with it.
#pragma once

#include <memory>

#include "frontend/front_end.hpp"
#include "frontend/phonemizer.hpp"
#include "speech/model_files.hpp"

namespace timbre::capi {

/// Hugging Face's character tokenizer where there is a vocab.json, else Piper's rules for the first other .json; null
/// when there is neither (the model then takes token ids only).
Result<std::unique_ptr<frontend::FrontEnd>> make_front_end(const speech::ModelFiles& files,
                                                           frontend::PhonemizerProvider phonemizer);

}  // namespace timbre::capi
