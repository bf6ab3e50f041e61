// SPDX-License-Identifier: MIT
#include "vits/model_loader.hpp"

#include "vits/piper_model.hpp"

namespace timbre::vits {

Result<LoadedModel> load_model(const speech::ModelFiles& files, const speech::LoadWarning& warning) {
  if (const auto* onnx = files.find_suffix(".onnx")) return load_piper_onnx(files, *onnx, warning);
  return Error{Status::kNotFound, "no model among the parts: an .onnx or a .safetensors file is wanted"};
}

}  // namespace timbre::vits
