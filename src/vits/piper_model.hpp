// SPDX-License-Identifier: MIT
//
// Loads Piper voices: the graph or its tensors under original names, the .onnx.json, external data and patches.
#pragma once

#include "vits/model_loader.hpp"

namespace timbre::vits {

[[nodiscard]] Result<LoadedModel> load_piper_onnx(const speech::ModelFiles& files, const speech::ModelFile& onnx,
                                                  const speech::LoadWarning& warning);

}  // namespace timbre::vits
