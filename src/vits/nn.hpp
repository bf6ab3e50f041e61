// SPDX-License-Identifier: MIT
//
// The few layers that VITS is made of, on ATen.
//
// Invariants
//   * An activation is [1, channels, 1, frames] in channels_last order, so its memory is [frames, channels]: a
//     convolution over frames runs as a 2-d one of height 1, and a layer norm over channels needs no transposition.
//   * All tensors are float32 on the CPU whatever the host made its defaults.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace timbre::vits {

/// Options of every tensor made here; the host's default dtype and device have no say.
[[nodiscard]] at::TensorOptions float_options();

/// A convolution over frames. weight [out, in / groups, 1, kernel]; bias [out] or undefined.
struct Conv {
  at::Tensor weight;
  at::Tensor bias;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  std::int64_t pad_left = 0;
  std::int64_t pad_right = 0;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;
  [[nodiscard]] std::int64_t out_channels() const { return weight.size(0); }
  [[nodiscard]] explicit operator bool() const { return weight.defined(); }
};

/// A transposed convolution over frames. weight [in, out, 1, kernel].
struct ConvTranspose {
  at::Tensor weight;
  at::Tensor bias;
  std::int64_t stride = 1;
  std::int64_t padding = 0;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;
};

/// A layer norm over channels.
struct Norm {
  at::Tensor gamma;
  at::Tensor beta;
  double eps = 1e-5;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;
};

/// [1, channels, 1, frames] as [frames, channels] and back; both without a copy for channels_last memory.
[[nodiscard]] at::Tensor to_rows(const at::Tensor& x);
[[nodiscard]] at::Tensor from_rows(const at::Tensor& rows);

}  // namespace timbre::vits
