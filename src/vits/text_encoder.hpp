// SPDX-License-Identifier: MIT
//
// Text encoder: token ids to hidden states and the prior's mean and log scale. Transformer with relative positions
// (Shaw et al. 2018) of a small window, shared by the heads.
#pragma once

#include <cstdint>
#include <span>

#include "vits/vits_weights.hpp"

namespace timbre::vits {

struct TextEncoding {
  std::int64_t ids = 0;
  at::Tensor hidden;      ///< [ids rounded up to whole blocks, hidden]; rows behind the ids hold anything finite
  at::Tensor means;       ///< [ids, latent]
  at::Tensor log_scales;  ///< [ids, latent]
};

/// The encoder at work on one sentence, layer by layer, so that a long one need not hold its thread for long. Ids are
/// in range. Memory is ids x ids floats for each head a few times over.
class TextEncoder {
 public:
  TextEncoder(const TextEncoderWeights& weights, std::span<const std::int32_t> ids);

  [[nodiscard]] bool is_done() const { return layer_ == weights_.layers.size(); }
  /// Runs the next layer.
  void step();
  /// When it is done.
  [[nodiscard]] TextEncoding result() const;

 private:
  const TextEncoderWeights& weights_;
  std::int64_t ids_;
  at::Tensor x_;  // [whole blocks of rows, hidden]
  std::size_t layer_ = 0;
};

}  // namespace timbre::vits
