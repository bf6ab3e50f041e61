// SPDX-License-Identifier: MIT
//
// FlowStream: the prior's sample to the decoder's latents, through mean-only residual couplings run backwards, step by
// step as the decoder (decoder.hpp); the same invariants hold.
#pragma once

#include <cstdint>
#include <vector>

#include "vits/signal.hpp"
#include "vits/vits_config.hpp"
#include "vits/vits_weights.hpp"

namespace timbre::vits {

/// Frames after its own that a latent depends on: 32 for all published models.
[[nodiscard]] std::int64_t flow_reach_frames(const VitsConfig& config);

/// Thread safety: a value of one sentence; weights outlive it.
class FlowStream {
 public:
  /// @param voice  "g" as [1, voice_dim], undefined without conditioning.
  FlowStream(const FlowWeights& weights, const VitsConfig& config, std::int64_t frames, const at::Tensor& voice);

  /// Takes the next `count` rows of the prior's sample [rows, latent]. @return the latents that are ready now, [rows,
  /// latent].
  [[nodiscard]] at::Tensor step(const at::Tensor& prior, std::int64_t count);

 private:
  struct Layer {
    const WaveNetLayer* weights = nullptr;
    at::Tensor condition;  // [1, 2 width], undefined without conditioning
    Signal input;
    std::int64_t done = 0;
  };
  struct Step {
    const Coupling* weights = nullptr;
    std::vector<Layer> layers;
    Signal input;      // both halves, until the shift of their rows is known
    at::Tensor skips;  // [rows from `done` on, width]: what the layers have given of them so far
    std::int64_t done = 0;
  };

  [[nodiscard]] static at::Tensor run(Step& step, const at::Tensor& z);
  static at::Tensor run_layer(Layer& layer, const at::Tensor& fresh, Step& step);

  std::vector<Step> steps_;
};

}  // namespace timbre::vits
