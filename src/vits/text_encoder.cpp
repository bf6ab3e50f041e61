// SPDX-License-Identifier: MIT
#include "vits/text_encoder.hpp"

#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace timbre::vits {
namespace {

/// The diagonal of [heads, ids, ids] on which key - query = offset, and the first query on it.
at::Tensor offset_diagonal(const at::Tensor& scores, std::int64_t offset) { return scores.diagonal(offset, 1, 2); }

/// [1, heads x head, 1, ids] as [heads, ids, head].
at::Tensor split_heads(const at::Tensor& x, std::int64_t head) {
  return to_rows(x).view({x.size(3), x.size(1) / head, head}).transpose(0, 1);
}

at::Tensor attend(const AttentionLayer& layer, const at::Tensor& x) {
  const std::int64_t ids = x.size(3);
  const std::int64_t positions = layer.relative_key.size(0);
  const std::int64_t head = layer.relative_key.size(1);
  const std::int64_t window = (positions - 1) / 2;
  const std::int64_t reach = std::min(window, ids - 1);
  const at::Tensor query = split_heads(layer.query(x), head) / std::sqrt(static_cast<double>(head));
  const at::Tensor key = split_heads(layer.key(x), head);
  const at::Tensor value = split_heads(layer.value(x), head);

  at::Tensor scores = at::bmm(query, key.transpose(1, 2));
  const at::Tensor relative = at::matmul(query, layer.relative_key.t());  // [heads, ids, positions]
  for (std::int64_t offset = -reach; offset <= reach; ++offset) {
    const std::int64_t first = std::max<std::int64_t>(0, -offset);
    offset_diagonal(scores, offset).add_(relative.select(2, offset + window).narrow(1, first, ids - std::abs(offset)));
  }
  const at::Tensor weights = at::softmax(scores, -1);
  at::Tensor near = at::zeros({query.size(0), ids, positions}, float_options());
  for (std::int64_t offset = -reach; offset <= reach; ++offset) {
    const std::int64_t first = std::max<std::int64_t>(0, -offset);
    near.select(2, offset + window).narrow(1, first, ids - std::abs(offset)).copy_(offset_diagonal(weights, offset));
  }
  at::Tensor out = at::bmm(weights, value);
  out.add_(at::matmul(near, layer.relative_value));
  return layer.out(from_rows(out.transpose(0, 1).reshape({ids, x.size(1)})));
}

}  // namespace

TextEncoding encode_text(const TextEncoderWeights& weights, std::span<const std::int32_t> ids) {
  at::Tensor index = at::empty({static_cast<std::int64_t>(ids.size())}, float_options().dtype(at::kLong));
  std::copy(ids.begin(), ids.end(), index.data_ptr<std::int64_t>());
  at::Tensor x = from_rows(at::index_select(weights.embedding, 0, index));
  for (const AttentionLayer& layer : weights.layers) {
    x = layer.norm_1(x + attend(layer, x));
    x = layer.norm_2(x + layer.ffn_2(layer.ffn_1(x).relu_()));
  }
  const at::Tensor prior = to_rows(weights.project(x));
  const std::int64_t latent = prior.size(1) / 2;
  return {x, prior.narrow(1, 0, latent), prior.narrow(1, latent, latent)};
}

}  // namespace timbre::vits
