// SPDX-License-Identifier: MIT
#include "vits/text_encoder.hpp"

#include <ATen/ops/_softmax.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

namespace timbre::vits {
namespace {

/// The diagonal of [heads, ids, ids] on which key - query = offset, and the first query on it.
at::Tensor offset_diagonal(const at::Tensor& scores, std::int64_t offset) { return scores.diagonal(offset, 1, 2); }

/// One of queries, keys and values of the ids, [heads, ids, head].
at::Tensor heads_of(const at::Tensor& projected, std::int64_t which, std::int64_t ids, std::int64_t head) {
  const std::int64_t hidden = projected.size(1) / 3;
  return projected.slice(0, 0, ids).narrow(1, which * hidden, hidden).view({ids, hidden / head, head}).transpose(0, 1);
}

at::Tensor attend(const AttentionLayer& layer, const at::Tensor& x, std::int64_t ids) {
  const std::int64_t positions = layer.relative_key.size(0);
  const std::int64_t head = layer.relative_key.size(1);
  const std::int64_t window = (positions - 1) / 2;
  const std::int64_t reach = std::min(window, ids - 1);
  const at::Tensor projected = layer.project(x, ids);
  const at::Tensor query = heads_of(projected, 0, ids, head) / std::sqrt(static_cast<double>(head));
  const at::Tensor key = heads_of(projected, 1, ids, head);
  const at::Tensor value = heads_of(projected, 2, ids, head);

  at::Tensor scores = at::bmm(query, key.transpose(1, 2));
  const at::Tensor relative = at::matmul(query, layer.relative_key.t());  // [heads, ids, positions]
  for (std::int64_t offset = -reach; offset <= reach; ++offset) {
    const std::int64_t first = std::max<std::int64_t>(0, -offset);
    offset_diagonal(scores, offset).add_(relative.select(2, offset + window).narrow(1, first, ids - std::abs(offset)));
  }
  at::_softmax_out(scores, scores, -1, false);
  at::Tensor near = at::zeros({query.size(0), ids, positions}, float_options());
  for (std::int64_t offset = -reach; offset <= reach; ++offset) {
    const std::int64_t first = std::max<std::int64_t>(0, -offset);
    near.select(2, offset + window).narrow(1, first, ids - std::abs(offset)).copy_(offset_diagonal(scores, offset));
  }
  at::Tensor out = at::bmm(scores, value);
  out.add_(at::matmul(near, layer.relative_value));
  at::Tensor rows = at::zeros({x.size(0), x.size(1)}, float_options());
  rows.slice(0, 0, ids).view({ids, query.size(0), head}).copy_(out.transpose(0, 1));
  return layer.out(rows, ids);
}

}  // namespace

TextEncoder::TextEncoder(const TextEncoderWeights& weights, std::span<const std::int32_t> ids)
    : weights_(weights), ids_(static_cast<std::int64_t>(ids.size())) {
  at::Tensor index = at::zeros({round_up(ids_, weights.project.granule())}, float_options().dtype(at::kLong));
  std::copy(ids.begin(), ids.end(), index.data_ptr<std::int64_t>());
  x_ = at::index_select(weights.embedding, 0, index);
}

void TextEncoder::step() {
  const AttentionLayer& layer = weights_.layers[layer_++];
  x_ = layer.norm_1(attend(layer, x_, ids_).add_(x_));
  x_ = layer.norm_2(layer.ffn_2.padded(layer.ffn_1.padded(x_, ids_).relu_(), ids_).add_(x_));
}

TextEncoding TextEncoder::result() const {
  const at::Tensor prior = weights_.project(x_, ids_).slice(0, 0, ids_);
  const std::int64_t latent = prior.size(1) / 2;
  return {ids_, x_, prior.narrow(1, 0, latent), prior.narrow(1, latent, latent)};
}

}  // namespace timbre::vits
