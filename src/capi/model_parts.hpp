// SPDX-License-Identifier: MIT
//
// Collecting a model's parts: from what the host gave (paths, folders, bytes) to named bytes in memory.
//
// Files are read whole, not mapped: a mapped file that another process cuts short would end the host with SIGBUS.
#pragma once

#include <string>
#include <vector>

#include "speech/model_files.hpp"
#include "timbre/core/result.hpp"

namespace timbre::capi {

/// One part as the host named it; owned and checked.
struct ModelPart {
  std::string name;
  std::string path;
  std::span<const std::byte> bytes;
  bool in_memory = false;
};

/// Reads every part, and what belongs to it: X.onnx.json beside X.onnx, the known files of a Hugging Face folder.
/// Configurations are read before weights, and a graph without one is not read at all.
/// kNotFound (a broken link too), kIo (naming the path), kFormat (empty file), kInvalidArgument (two parts of one
/// name).
Result<speech::ModelFiles> collect_model_files(const std::vector<ModelPart>& parts);

}  // namespace timbre::capi
