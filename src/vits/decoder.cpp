// SPDX-License-Identifier: MIT
#include "vits/decoder.hpp"

#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/tanh.h>

#include <algorithm>

namespace timbre::vits {
namespace {

constexpr double kLastSlope = 0.01;  // before conv_post; all others have the configuration's slope

at::Tensor run_resblock(const ResBlock& block, const at::Tensor& input, double slope) {
  at::Tensor x = input;
  for (std::size_t i = 0; i < block.first.size(); ++i) {
    at::Tensor y = block.first[i](at::leaky_relu(x, slope));
    if (!block.second.empty()) y = block.second[i](at::leaky_relu_(y, slope));
    x = y.add_(x);
  }
  return x;
}

}  // namespace

at::Tensor decode(const DecoderWeights& weights, const VitsConfig& config, const at::Tensor& z,
                  const at::Tensor& condition) {
  at::Tensor x = weights.pre(z);
  if (condition.defined()) x.add_(condition);
  for (const DecoderStage& stage : weights.stages) {
    x = stage.up(at::leaky_relu_(x, config.leaky_slope));
    at::Tensor sum;
    for (const ResBlock& block : stage.blocks) {
      const at::Tensor y = run_resblock(block, x, config.leaky_slope);
      sum = sum.defined() ? sum.add_(y) : y;
    }
    x = sum.div_(static_cast<double>(stage.blocks.size()));
  }
  return at::tanh(weights.post(at::leaky_relu_(x, kLastSlope))).reshape({-1});
}

std::int64_t decoder_reach_frames(const VitsConfig& config) {
  auto floor_div = [](std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  // The samples of frame 0, followed from the last layer to the first: inputs low .. high are what they depend on.
  std::int64_t low = 0;
  std::int64_t high = config.hop() - 1;
  auto widen = [&](std::int64_t by) {
    low -= by;
    high += by;
  };
  widen(3);  // conv_post
  for (std::size_t i = config.upsample_rates.size(); i-- > 0;) {
    std::int64_t widest = 0;
    for (std::size_t j = 0; j < config.resblock_kernels.size(); ++j) {
      std::int64_t dilated = 0;
      for (const std::int64_t dilation : config.resblock_dilations[j]) {
        dilated += dilation + (config.resblock_type == 1 ? 1 : 0);
      }
      widest = std::max(widest, (config.resblock_kernels[j] - 1) / 2 * dilated);
    }
    widen(widest);
    const std::int64_t rate = config.upsample_rates[i];
    const std::int64_t kernel = config.upsample_kernels[i];
    const std::int64_t padding = (kernel - rate) / 2;
    low = -floor_div(-(low + padding - kernel + 1), rate);
    high = floor_div(high + padding, rate);
  }
  widen(3);  // conv_pre
  return std::max(-low, high);
}

std::vector<DecoderWindow> decoder_schedule(std::int64_t frames, std::int64_t reach) {
  std::vector<DecoderWindow> out;
  const std::int64_t full = kChunkFrames + 2 * reach;
  for (std::int64_t first = 0; first < frames;) {
    DecoderWindow window;
    window.first = first;
    window.last = std::min(frames, first + (first == 0 ? kFirstChunkFrames : kChunkFrames));
    window.begin = std::max<std::int64_t>(0, first - reach);
    window.end = std::min(frames, window.last + reach);
    if (first > 0 && window.end - window.begin < full) window.begin = std::max<std::int64_t>(0, window.end - full);
    out.push_back(window);
    first = window.last;
  }
  return out;
}

}  // namespace timbre::vits
