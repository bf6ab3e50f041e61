// SPDX-License-Identifier: MIT
//
// Loads Piper voices: the graph or its tensors under original names, the .onnx.json, external data and patches.
#pragma once

#include "vits/model_loader.hpp"

namespace timbre::vits {

/// Every .safetensors among the parts is a patch.
[[nodiscard]] Result<LoadedModel> load_piper_onnx(const speech::ModelFiles& files, const speech::ModelFile& onnx,
                                                  const speech::LoadWarning& warning);

/// The same from a .safetensors under original names.
[[nodiscard]] Result<LoadedModel> load_piper_tensors(const speech::ModelFiles& files, const speech::ModelFile& weights,
                                                     const speech::LoadWarning& warning);

}  // namespace timbre::vits
