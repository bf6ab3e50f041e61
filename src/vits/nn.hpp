// SPDX-License-Identifier: MIT
//
// The layers that know one row at a time, on ATen; for convolutions see conv.hpp.
//
// Invariants
//   * A signal is [rows, channels], dense: a layer norm and a matrix product need no transposition.
//   * All tensors are float32 on the CPU whatever the host made its defaults.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

namespace timbre::vits {

/// Options of every tensor made here; the host's default dtype and device have no say.
[[nodiscard]] at::TensorOptions float_options();

/// A layer norm over channels.
struct Norm {
  at::Tensor gamma;
  at::Tensor beta;
  double eps = 1e-5;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;
};

/// A product with few rows or few inputs, where packed weights gain nothing. weight [out, in]; bias [out] or undefined.
struct Affine {
  at::Tensor weight;
  at::Tensor bias;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x) const;
  [[nodiscard]] explicit operator bool() const { return weight.defined(); }
};

}  // namespace timbre::vits
