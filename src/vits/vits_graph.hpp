// SPDX-License-Identifier: MIT
//
// VitsGraph: the stages of one model in the order of a sentence. Each stage is a function of its inputs alone, so that
// tests compare stage by stage.
//
// Invariants
//   * Immutable; any number of threads use it at once. Callers hold a TorchScope.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vits/duration_predictor.hpp"
#include "vits/sentence_stream.hpp"
#include "vits/text_encoder.hpp"
#include "vits/vits_config.hpp"
#include "vits/vits_weights.hpp"

namespace timbre::vits {

/// The prior of a sentence, spread over its frames.
struct PriorInput {
  TextEncoding text;
  std::vector<std::int64_t> frame_ids;  ///< index of the id of each frame; empty: one frame of noise alone
  float noise_scale = 0;
  std::uint64_t seed = 0;
  std::uint32_t segment = 0;
};

class VitsGraph {
 public:
  VitsGraph(VitsConfig config, VitsWeights weights) : config_(std::move(config)), weights_(std::move(weights)) {}

  [[nodiscard]] const VitsConfig& config() const { return config_; }
  [[nodiscard]] const VitsWeights& weights() const { return weights_; }

  /// "g" as the layers take it, [1, voice_dim]; undefined when the model has no conditioning.
  [[nodiscard]] at::Tensor voice(std::span<const float> g) const;
  [[nodiscard]] TextEncoding encode(std::span<const std::int32_t> ids) const;
  /// Log durations with noise v1 of the seed and segment, scaled by noise_w.
  [[nodiscard]] Result<std::vector<float>> durations(const TextEncoding& text, const at::Tensor& voice, float noise_w,
                                                     std::uint64_t seed, std::uint32_t segment) const;
  /// Frames [first, first + count) of the prior's sample with noise v1, [count, latent].
  [[nodiscard]] at::Tensor prior(const PriorInput& input, std::int64_t first, std::int64_t count) const;
  /// Flow and decoder over a prior.
  [[nodiscard]] SentenceStream stream(PriorInput input, const at::Tensor& voice) const;
  /// Meets every shape of every convolution once.
  void warm_up() const;

 private:
  VitsConfig config_;
  VitsWeights weights_;
};

/// The index of its id for each frame.
[[nodiscard]] std::vector<std::int64_t> spread(std::span<const std::int32_t> durations);

}  // namespace timbre::vits
