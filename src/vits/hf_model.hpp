// SPDX-License-Identifier: MIT
//
// Loads Hugging Face VITS folders: config.json and model.safetensors, whose weights are plain, weight_g and weight_v,
// or parametrizations. What the tokenizer's files say is the front end's.
#pragma once

#include <string>
#include <string_view>

#include "vits/model_loader.hpp"

namespace timbre::vits {

[[nodiscard]] Result<LoadedModel> load_hf(const speech::ModelFiles& files, const speech::ModelFile& config_file);

/// The original name of a tensor of transformers' VitsModel; the name itself where they are the same or none is known.
[[nodiscard]] std::string original_name(std::string_view hf_name);

}  // namespace timbre::vits
