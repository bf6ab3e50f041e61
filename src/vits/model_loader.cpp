// SPDX-License-Identifier: MIT
#include "vits/model_loader.hpp"

#include <array>
#include <string>
#include <string_view>

#include "vits/hf_model.hpp"
#include "vits/piper_model.hpp"

namespace timbre::vits {
namespace {

/// A part that holds pickled tensors, or null. Reading it would run code from the file.
const speech::ModelFile* find_pickle(const speech::ModelFiles& files) {
  constexpr std::array<std::string_view, 5> kEndings{".bin", ".pth", ".pt", ".ckpt", ".pkl"};
  for (const std::string_view ending : kEndings) {
    if (const auto* found = files.find_suffix(ending)) return found;
  }
  return nullptr;
}

std::string names_of(const speech::ModelFiles& files) {
  std::string names;
  for (const speech::ModelFile& file : files.files) names += (names.empty() ? "" : ", ") + file.where;
  return names;
}

}  // namespace

Result<LoadedModel> load_model(const speech::ModelFiles& files, const speech::LoadWarning& warning) {
  if (const auto* onnx = files.find_suffix(".onnx")) return load_piper_onnx(files, *onnx, warning);
  const auto* weights = files.find_suffix(".safetensors");
  if (weights == nullptr) {
    if (const auto* pickle = find_pickle(files)) {
      return Error{Status::kUnsupported, pickle->where +
                                             ": pickled weights are never read; save the model again with "
                                             "save_pretrained(folder, safe_serialization=True) and load that folder"};
    }
  }
  if (const auto* config = files.find("config.json")) return load_hf(files, *config);
  if (weights != nullptr) return load_piper_tensors(files, *weights, warning);
  return Error{Status::kNotFound,
               "no model among " + names_of(files) +
                   ": a folder with config.json and model.safetensors, or an .onnx, or a .safetensors with its .json "
                   "is wanted"};
}

}  // namespace timbre::vits
