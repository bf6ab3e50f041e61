// SPDX-License-Identifier: MIT
#include "vits/nn.hpp"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

namespace timbre::vits {

at::TensorOptions float_options() {
  return at::TensorOptions().dtype(at::kFloat).device(at::kCPU).layout(at::kStrided).requires_grad(false);
}

at::Tensor Norm::operator()(const at::Tensor& x) const { return at::layer_norm(x, {x.size(1)}, gamma, beta, eps); }

at::Tensor Affine::operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

}  // namespace timbre::vits
