// SPDX-License-Identifier: MIT
//
// VoiceRecord: what is kept under a voice id: named tensors, the model they fit, and how to use them.
//
// Invariants of a record that passed check()
//   * It holds tensors, or names a model; a record of neither could never speak.
//   * Tensor names are unique, sizes agree with shapes, and every floating-point value is finite.
//   * It has a vector "g" or a speaker index, never both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"
#include "voice/safetensors.hpp"

namespace timbre::voice {

/// A dense, row-major, little-endian tensor of rank 0..4; F32, F16, BF16, I32 or I64.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  [[nodiscard]] TensorView view() const { return {dtype, shape, data}; }
  [[nodiscard]] bool is_floating() const { return dtype != DType::kI32 && dtype != DType::kI64; }
};

/// Scales that a voice prefers; empty = the model's.
struct Scales {
  std::optional<float> noise;
  std::optional<float> length;
  std::optional<float> noise_w;
};

struct VoiceRecord {
  std::vector<Tensor> tensors;
  std::string model_fingerprint;  ///< 32 hex digits, or empty
  std::string encoder;
  std::string language;
  std::string note;
  std::optional<std::int32_t> speaker;
  bool normalised = false;
  std::uint32_t sample_rate_hz = 0;
  Scales scales;

  [[nodiscard]] const Tensor* find(std::string_view name) const;
};

/// Finite, >= 0, and a length above 0; kInvalidArgument with the scale that is not.
Result<void> check(const Scales& scales);

/// Checks the invariants above; kInvalidArgument with the tensor or field that breaks one.
Result<void> check(const VoiceRecord& record);

}  // namespace timbre::voice
