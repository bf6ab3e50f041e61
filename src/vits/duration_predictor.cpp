// SPDX-License-Identifier: MIT
#include "vits/duration_predictor.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/flip.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "vits/spline.hpp"

namespace timbre::vits {
namespace {

/// The exact form. at::gelu would have oneDNN compile a kernel for each length.
at::Tensor exact_gelu(const at::Tensor& x) { return at::erf(x * M_SQRT1_2).add_(1).mul_(x).mul_(0.5); }

/// @param x  [whole blocks of rows, channels], of which `ids` count, as everywhere below.
at::Tensor run_dds(const Dds& dds, at::Tensor x, std::int64_t ids) {
  for (const DdsLayer& layer : dds.layers) {
    at::Tensor y = exact_gelu(layer.norm_1(layer.separate.padded(x, ids)));
    y = exact_gelu(layer.norm_2(layer.mix(y, ids)));
    x = y.add_(x);
  }
  return x;
}

/// The coupling that runs backwards: the second channel goes through the spline that the first one shapes.
Result<void> invert_flow(const DurationFlow& flow, const SplineShape& shape, const at::Tensor& context, at::Tensor& z) {
  const std::int64_t ids = z.size(1);
  at::Tensor hidden = context.clone();
  hidden.slice(0, 0, ids).add_(flow.pre(z.select(0, 0).unsqueeze(1)));
  const at::Tensor parameters = flow.project(run_dds(flow.dds, hidden, ids), ids).slice(0, 0, ids).contiguous();
  const std::span<float> second(z.data_ptr<float>() + ids, static_cast<std::size_t>(ids));
  return invert_spline(shape, {parameters.data_ptr<float>(), static_cast<std::size_t>(parameters.numel())}, second);
}

std::vector<float> to_vector(const at::Tensor& row) {
  const at::Tensor flat = row.contiguous();
  const float* from = flat.data_ptr<float>();
  return {from, from + flat.numel()};
}

Result<std::vector<float>> stochastic(const DurationWeights& weights, const VitsConfig& config,
                                      const at::Tensor& hidden, const at::Tensor& voice, const at::Tensor& noise) {
  const std::int64_t ids = noise.size(1);
  at::Tensor x = weights.pre(hidden, ids);
  if (weights.condition) x.add_(weights.condition(voice));
  x = weights.project(run_dds(weights.dds, x, ids), ids);
  const SplineShape shape{config.spline_bins, config.spline_tail,
                          std::sqrt(static_cast<double>(config.duration_channels))};
  at::Tensor z = noise.clone();
  for (const DurationFlow& flow : weights.flows) {
    z = at::flip(z, {0}).contiguous();
    if (auto done = invert_flow(flow, shape, x, z); !done) return done.error();
  }
  z = (at::flip(z, {0}) - weights.affine_mean) * weights.affine_scale;
  return to_vector(z.select(0, 0));
}

}  // namespace

Result<std::vector<float>> log_durations(const DurationWeights& weights, const VitsConfig& config,
                                         const at::Tensor& hidden, const at::Tensor& voice, const at::Tensor& noise) {
  if (config.stochastic_durations) return stochastic(weights, config, hidden, voice, noise);
  const std::int64_t ids = noise.size(1);
  at::Tensor x = weights.condition ? hidden + weights.condition(voice) : hidden;
  x = weights.norm_1(weights.conv_1.padded(x, ids).relu_());
  x = weights.norm_2(weights.conv_2.padded(x, ids).relu_());
  return to_vector(weights.out(x, ids).slice(0, 0, ids));
}

Result<std::vector<std::int32_t>> round_durations(std::span<const float> log_durations, float length_scale) {
  std::vector<std::int32_t> out;
  out.reserve(log_durations.size());
  double total = 0;
  for (const float value : log_durations) {
    const double frames = std::ceil(static_cast<double>(std::exp(value) * length_scale));
    if (std::isnan(frames)) {
      return Error{Status::kFormat,
                   "the duration predictor gave a number that is not finite at id " + std::to_string(out.size())};
    }
    total += frames;
    if (total > static_cast<double>(kMaxFrames)) {
      return Error{Status::kInvalidArgument, "a sentence of " + std::to_string(log_durations.size()) +
                                                 " ids has more than " + std::to_string(kMaxFrames) + " frames"};
    }
    out.push_back(static_cast<std::int32_t>(frames));
  }
  return out;
}

Result<std::int64_t> count_frames(std::span<const std::int32_t> durations) {
  std::int64_t total = 0;
  for (const std::int32_t frames : durations) {
    if (frames < 0) return Error{Status::kInvalidArgument, "a duration of " + std::to_string(frames) + " frames"};
    total += frames;
  }
  if (total > kMaxFrames) {
    return Error{Status::kInvalidArgument, "durations of " + std::to_string(total) + " frames in all are more than " +
                                               std::to_string(kMaxFrames)};
  }
  return std::max<std::int64_t>(total, 1);
}

}  // namespace timbre::vits
