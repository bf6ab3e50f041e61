// SPDX-License-Identifier: MIT
#include "vits/duration_predictor.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/gelu.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "vits/spline.hpp"

namespace timbre::vits {
namespace {

at::Tensor run_dds(const Dds& dds, at::Tensor x) {
  for (const DdsLayer& layer : dds.layers) {
    at::Tensor y = at::gelu(layer.norm_1(layer.separate(x)));
    y = at::gelu(layer.norm_2(layer.mix(y)));
    x = x + y;
  }
  return x;
}

/// The coupling that runs backwards: the second channel goes through the spline that the first one shapes.
Result<void> invert_flow(const DurationFlow& flow, const SplineShape& shape, const at::Tensor& context, at::Tensor& z) {
  const std::int64_t ids = z.size(1);
  const at::Tensor first = z.narrow(0, 0, 1).reshape({1, 1, 1, ids});
  const at::Tensor hidden = run_dds(flow.dds, flow.pre(first) + context);
  const at::Tensor parameters = to_rows(flow.project(hidden)).contiguous();
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
  at::Tensor x = weights.pre(hidden);
  if (weights.condition) x = x + weights.condition(voice);
  x = weights.project(run_dds(weights.dds, x));
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
  at::Tensor x = weights.condition ? hidden + weights.condition(voice) : hidden;
  x = weights.norm_1(weights.conv_1(x).relu_());
  x = weights.norm_2(weights.conv_2(x).relu_());
  return to_vector(to_rows(weights.out(x)).reshape({hidden.size(3)}));
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
