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

namespace timbre::vits {

at::Tensor VitsGraph::voice(std::span<const float> g) const {
  if (config_.voice_dim == 0) return {};
  at::Tensor out = at::empty({1, config_.voice_dim}, float_options());
  std::memcpy(out.data_ptr<float>(), g.data(), g.size_bytes());
  return out;
}

TextEncoding VitsGraph::encode(std::span<const std::int32_t> ids) const {
  TextEncoder encoder(weights_.text, ids);
  while (!encoder.is_done()) encoder.step();
  return encoder.result();
}

Result<std::vector<float>> VitsGraph::durations(const TextEncoding& text, const at::Tensor& voice, float noise_w,
                                                std::uint64_t seed, std::uint32_t segment) const {
  at::Tensor noise = at::zeros({2, text.ids}, float_options());
  if (noise_w != 0.0F && config_.stochastic_durations) {
    for (std::uint32_t channel = 0; channel < 2; ++channel) {
      gaussian_row(seed, kDurationNoise, segment, channel, 0, noise.data_ptr<float>() + channel * text.ids,
                   static_cast<std::uint32_t>(text.ids));
    }
    noise.mul_(noise_w);
  }
  return log_durations(weights_.durations, config_, text.hidden, voice, noise);
}

at::Tensor VitsGraph::prior(const PriorInput& input, std::int64_t first, std::int64_t count) const {
  const bool has_frames = !input.frame_ids.empty();
  at::Tensor index = at::empty({has_frames ? count : 0}, float_options().dtype(at::kLong));
  if (has_frames) std::copy_n(input.frame_ids.begin() + first, count, index.data_ptr<std::int64_t>());
  at::Tensor z =
      has_frames ? at::index_select(input.text.means, 0, index) : at::zeros({count, config_.latent}, float_options());
  if (input.noise_scale == 0.0F) return z;
  at::Tensor noise = at::empty({config_.latent, count}, float_options());
  for (std::int64_t channel = 0; channel < config_.latent; ++channel) {
    gaussian_row(input.seed, kPriorNoise, input.segment, static_cast<std::uint32_t>(channel),
                 static_cast<std::uint32_t>(first), noise.data_ptr<float>() + channel * count,
                 static_cast<std::uint32_t>(count));
  }
  noise = noise.t().contiguous();
  if (has_frames) noise.mul_(at::exp(at::index_select(input.text.log_scales, 0, index)));
  return z.add_(noise, input.noise_scale);
}

SentenceStream VitsGraph::stream(PriorInput input, const at::Tensor& voice) const {
  const std::int64_t frames = std::max<std::int64_t>(1, static_cast<std::int64_t>(input.frame_ids.size()));
  return {weights_, config_, frames, voice, [this, input = std::move(input)](std::int64_t first, std::int64_t count) {
            return prior(input, first, count);
          }};
}

void VitsGraph::warm_up() const {
  for_each_conv(weights_, [](const Conv& conv) { conv.warm_up(); });
}

std::vector<std::int64_t> spread(std::span<const std::int32_t> durations) {
  std::vector<std::int64_t> frame_ids;
  for (std::size_t i = 0; i < durations.size(); ++i) {
    frame_ids.insert(frame_ids.end(), static_cast<std::size_t>(durations[i]), static_cast<std::int64_t>(i));
  }
  return frame_ids;
}

}  // namespace timbre::vits
