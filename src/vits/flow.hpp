// SPDX-License-Identifier: MIT
//
// Flow: the prior's sample to the decoder's latents, through mean-only residual couplings run backwards.
#pragma once

#include "vits/vits_weights.hpp"

namespace timbre::vits {

/// @param z      [1, latent, 1, frames].
/// @param voice  "g" as [1, voice_dim, 1, 1], undefined without conditioning.
/// @return [1, latent, 1, frames].
[[nodiscard]] at::Tensor run_flow(const FlowWeights& weights, at::Tensor z, const at::Tensor& voice);

}  // namespace timbre::vits
