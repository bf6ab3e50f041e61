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

/// Ids are in range. Memory is ids x ids floats for each head a few times over.
[[nodiscard]] TextEncoding encode_text(const TextEncoderWeights& weights, std::span<const std::int32_t> ids);

}  // namespace timbre::vits
