// SPDX-License-Identifier: MIT
//
// From a model's parts to tensors, configuration and facts. Which kind of model it is, the names of the parts tell:
//   X.onnx + X.onnx.json [+ P.safetensors]   a Piper voice, with a patch laid over it
//   X.safetensors + X.json                   the same under original names, with a Piper configuration
//   config.json + model.safetensors          a Hugging Face VITS folder
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "speech/model_files.hpp"
#include "speech/synthesizer.hpp"
#include "vits/tensor_set.hpp"
#include "vits/vits_config.hpp"

namespace timbre::vits {

/// Everything that a model's files say. Views refer to the files and to `keep`.
struct LoadedModel {
  std::string where;  ///< what messages call the file of its weights
  TensorSet tensors;
  VitsConfig config;
  speech::ModelFacts facts;
  std::vector<std::shared_ptr<const void>> keep;
};

/// @return kNotFound naming the part that is missing; kFormat, kMismatch, kUnsupported naming file, key or tensor.
[[nodiscard]] Result<LoadedModel> load_model(const speech::ModelFiles& files, const speech::LoadWarning& warning);

}  // namespace timbre::vits
