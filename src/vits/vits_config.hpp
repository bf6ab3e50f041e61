// SPDX-License-Identifier: MIT
//
// VitsConfig: the sizes of one VITS model, whatever file they were read from. Symbols follow the paper
// (https://arxiv.org/abs/2106.06103) and its public implementation.
#pragma once

#include <cstdint>
#include <vector>

namespace timbre::vits {

struct VitsConfig {
  // Text encoder
  std::int64_t token_count = 0;
  std::int64_t hidden = 0;  ///< channels of the text encoder and of the flow's WaveNets
  std::int64_t latent = 0;  ///< channels of the latents z ("inter channels", flow size)
  std::int64_t heads = 0;
  std::int64_t layers = 0;
  std::int64_t window = 0;  ///< relative positions reach from -window to window
  std::int64_t ffn_channels = 0;
  std::int64_t ffn_kernel = 0;
  double layer_norm_eps = 1e-5;
  bool attention_bias = true;

  // Speakers
  std::int64_t speakers = 1;   ///< rows of the speaker table; 1 without one
  std::int64_t voice_dim = 0;  ///< length of g; 0 without conditioning

  // Duration predictor
  bool stochastic_durations = true;
  std::int64_t duration_channels = 0;  ///< filter channels
  std::int64_t duration_kernel = 3;
  std::int64_t dds_layers = 3;
  std::int64_t duration_flows = 0;  ///< coupling flows that inference runs (one less than were trained)
  std::int64_t spline_bins = 10;
  double spline_tail = 5.0;

  // Flow
  std::int64_t couplings = 0;
  std::int64_t wavenet_layers = 0;
  std::int64_t wavenet_kernel = 0;
  std::int64_t wavenet_dilation_rate = 1;

  // Decoder
  std::int64_t decoder_channels = 0;
  std::vector<std::int64_t> upsample_rates;
  std::vector<std::int64_t> upsample_kernels;
  std::int64_t resblock_type = 1;
  std::vector<std::int64_t> resblock_kernels;
  std::vector<std::vector<std::int64_t>> resblock_dilations;
  double leaky_slope = 0.1;

  /// Samples that one frame becomes.
  [[nodiscard]] std::int64_t hop() const {
    std::int64_t product = 1;
    for (const std::int64_t rate : upsample_rates) product *= rate;
    return product;
  }
};

}  // namespace timbre::vits
