// SPDX-License-Identifier: MIT
#include "vits/vits_graph.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "timbre/core/philox.hpp"
#include "vits/flow.hpp"

namespace timbre::vits {

VitsGraph::VitsGraph(VitsConfig config, VitsWeights weights)
    : config_(std::move(config)), weights_(std::move(weights)), reach_frames_(decoder_reach_frames(config_)) {}

at::Tensor VitsGraph::voice(std::span<const float> g) const {
  if (config_.voice_dim == 0) return {};
  at::Tensor out = at::empty({1, config_.voice_dim, 1, 1}, float_options());
  std::memcpy(out.data_ptr<float>(), g.data(), g.size_bytes());
  return out;
}

TextEncoding VitsGraph::encode(std::span<const std::int32_t> ids) const { return encode_text(weights_.text, ids); }

Result<std::vector<float>> VitsGraph::durations(const TextEncoding& text, const at::Tensor& voice, float noise_w,
                                                std::uint64_t seed, std::uint32_t segment) const {
  const std::int64_t ids = text.hidden.size(3);
  at::Tensor noise = at::zeros({2, ids}, float_options());
  if (noise_w != 0.0F && config_.stochastic_durations) {
    for (std::uint32_t channel = 0; channel < 2; ++channel) {
      gaussian_row(seed, kDurationNoise, segment, channel, noise.data_ptr<float>() + channel * ids,
                   static_cast<std::uint32_t>(ids));
    }
    noise.mul_(noise_w);
  }
  return log_durations(weights_.durations, config_, text.hidden, voice, noise);
}

at::Tensor VitsGraph::prior(const TextEncoding& text, std::span<const std::int32_t> durations, float noise_scale,
                            std::uint64_t seed, std::uint32_t segment) const {
  std::int64_t frames = 0;
  for (const std::int32_t each : durations) frames += each;
  at::Tensor index = at::empty({frames}, float_options().dtype(at::kLong));
  std::int64_t* to = index.data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < durations.size(); ++i) to = std::fill_n(to, durations[i], static_cast<std::int64_t>(i));
  at::Tensor z = frames > 0 ? at::index_select(text.means, 0, index) : at::zeros({1, config_.latent}, float_options());
  if (noise_scale != 0.0F) {
    const std::int64_t rows = z.size(0);
    at::Tensor noise = at::empty({config_.latent, rows}, float_options());
    for (std::int64_t channel = 0; channel < config_.latent; ++channel) {
      gaussian_row(seed, kPriorNoise, segment, static_cast<std::uint32_t>(channel),
                   noise.data_ptr<float>() + channel * rows, static_cast<std::uint32_t>(rows));
    }
    noise = noise.t().contiguous();
    if (frames > 0) noise.mul_(at::exp(at::index_select(text.log_scales, 0, index)));
    z.add_(noise, noise_scale);
  }
  return from_rows(z);
}

at::Tensor VitsGraph::flow(const at::Tensor& prior, const at::Tensor& voice) const {
  return run_flow(weights_.flow, prior, voice);
}

at::Tensor VitsGraph::decoder_condition(const at::Tensor& voice) const {
  return weights_.decoder.condition ? weights_.decoder.condition(voice) : at::Tensor();
}

at::Tensor VitsGraph::decode_whole(const at::Tensor& latents, const at::Tensor& condition) const {
  return decode(weights_.decoder, config_, latents, condition);
}

at::Tensor VitsGraph::decode_window(const at::Tensor& latents, const DecoderWindow& window,
                                    const at::Tensor& condition) const {
  const at::Tensor part = latents.narrow(3, window.begin, window.end - window.begin);
  const std::int64_t hop = config_.hop();
  return decode(weights_.decoder, config_, part, condition)
      .narrow(0, (window.first - window.begin) * hop, (window.last - window.first) * hop);
}

}  // namespace timbre::vits
