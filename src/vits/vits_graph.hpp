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

#include "vits/decoder.hpp"
#include "vits/duration_predictor.hpp"
#include "vits/text_encoder.hpp"
#include "vits/vits_config.hpp"
#include "vits/vits_weights.hpp"

namespace timbre::vits {

class VitsGraph {
 public:
  VitsGraph(VitsConfig config, VitsWeights weights);

  [[nodiscard]] const VitsConfig& config() const { return config_; }
  [[nodiscard]] const VitsWeights& weights() const { return weights_; }
  [[nodiscard]] std::int64_t reach_frames() const { return reach_frames_; }

  /// "g" as the layers take it, [1, voice_dim, 1, 1]; undefined when the model has no conditioning.
  [[nodiscard]] at::Tensor voice(std::span<const float> g) const;
  [[nodiscard]] TextEncoding encode(std::span<const std::int32_t> ids) const;
  /// Log durations with noise v1 of the seed and segment, scaled by noise_w.
  [[nodiscard]] Result<std::vector<float>> durations(const TextEncoding& text, const at::Tensor& voice, float noise_w,
                                                     std::uint64_t seed, std::uint32_t segment) const;
  /// The prior spread over its frames with noise v1, [1, latent, 1, frames]. Without any frame: one, of noise alone.
  [[nodiscard]] at::Tensor prior(const TextEncoding& text, std::span<const std::int32_t> durations, float noise_scale,
                                 std::uint64_t seed, std::uint32_t segment) const;
  [[nodiscard]] at::Tensor flow(const at::Tensor& prior, const at::Tensor& voice) const;
  /// What the decoder adds for a voice, [1, channels, 1, 1]; undefined without conditioning.
  [[nodiscard]] at::Tensor decoder_condition(const at::Tensor& voice) const;
  /// Samples of latents [1, latent, 1, frames], whole.
  [[nodiscard]] at::Tensor decode_whole(const at::Tensor& latents, const at::Tensor& condition) const;
  /// Samples of one window of the schedule.
  [[nodiscard]] at::Tensor decode_window(const at::Tensor& latents, const DecoderWindow& window,
                                         const at::Tensor& condition) const;

 private:
  VitsConfig config_;
  VitsWeights weights_;
  std::int64_t reach_frames_;
};

}  // namespace timbre::vits
