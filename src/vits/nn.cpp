// SPDX-License-Identifier: MIT
#include "vits/nn.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/layer_norm.h>

#include <array>

namespace timbre::vits {

at::TensorOptions float_options() {
  return at::TensorOptions().dtype(at::kFloat).device(at::kCPU).layout(at::kStrided).requires_grad(false);
}

at::Tensor Conv::operator()(const at::Tensor& x) const {
  const bool even = pad_left == pad_right;
  const std::array<std::int64_t, 2> stride{1, 1};
  const std::array<std::int64_t, 2> padding{0, even ? pad_left : 0};
  const std::array<std::int64_t, 2> dilations{1, dilation};
  return at::conv2d(even ? x : at::constant_pad_nd(x, {pad_left, pad_right}), weight, bias, at::IntArrayRef(stride),
                    at::IntArrayRef(padding), at::IntArrayRef(dilations), groups);
}

at::Tensor ConvTranspose::operator()(const at::Tensor& x) const {
  return at::conv_transpose2d(x, weight, bias, {1, stride}, {0, padding});
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  const at::Tensor last = x.permute({0, 2, 3, 1});
  return at::layer_norm(last, {last.size(3)}, gamma, beta, eps).permute({0, 3, 1, 2});
}

at::Tensor to_rows(const at::Tensor& x) { return x.permute({0, 2, 3, 1}).reshape({x.size(3), x.size(1)}); }

at::Tensor from_rows(const at::Tensor& rows) {
  return rows.view({1, 1, rows.size(0), rows.size(1)}).permute({0, 3, 1, 2});
}

}  // namespace timbre::vits
