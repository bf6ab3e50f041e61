// SPDX-License-Identifier: MIT
//
// A voice from a safetensors file: its bytes, and its tensors as the C ABI takes them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "timbre/timbre.hpp"

namespace timbre::tools {

/// Owns the bytes that its tensors refer to.
class VoiceFile {
 public:
  /// Throws std::runtime_error naming the file and the tensor that cannot be used.
  explicit VoiceFile(const std::string& path);
  VoiceFile(const VoiceFile&) = delete;
  VoiceFile& operator=(const VoiceFile&) = delete;

  [[nodiscard]] std::span<const Tensor> tensors() const { return tensors_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::string> names_;
  std::vector<Tensor> tensors_;
};

}  // namespace timbre::tools
