// SPDX-License-Identifier: MIT
#include "vits/decoder.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>

#include <algorithm>
#include <utility>

namespace timbre::vits {
namespace {

constexpr double kLastSlope = 0.01;  // before conv_post; all others have the configuration's slope

/// Rows of zeros that a window needs behind it: the padding, and the rest of a block.
std::int64_t slack_of(const Conv& conv) { return conv.granule() + conv.reach(); }

/// Where a layer's rows end now: `frontier` may lie before the sentence, behind it, or before what is done.
std::int64_t target_of(std::int64_t done, std::int64_t frontier, std::int64_t length) {
  return std::max(done, std::min(frontier, length));
}

}  // namespace

DecoderStream::DecoderStream(const DecoderWeights& weights, const VitsConfig& config, std::int64_t frames,
                             at::Tensor condition)
    : weights_(weights), slope_(config.leaky_slope), condition_(std::move(condition)) {
  pre_ = {&weights.pre, Signal(weights.pre.in_channels(), weights.pre.left(), frames), 0};
  std::int64_t length = frames;
  for (std::size_t i = 0; i < weights.stages.size(); ++i) {
    stages_.push_back(make_stage(weights.stages[i], config.upsample_rates[i], config.upsample_kernels[i], length));
    length = stages_.back().length;
  }
  post_ = {&weights.post, Signal(weights.post.in_channels(), weights.taps / 2, length), 0};
}

DecoderStream::Stage DecoderStream::make_stage(const DecoderStage& weights, std::int64_t rate, std::int64_t kernel,
                                               std::int64_t length) const {
  Stage stage;
  stage.up = {&weights.up, Signal(weights.up.in_channels(), weights.up.reach(), length), 0};
  stage.rate = rate;
  stage.padding = (kernel - rate) / 2;
  stage.length = length * rate;
  std::int64_t left = 0;
  for (const ResBlock& from : weights.blocks) {
    Block block;
    for (std::size_t i = 0; i < from.first.size(); ++i) {
      Unit unit;
      const Conv& first = from.first[i];
      unit.first = {&first, {}, 0};
      unit.reach = first.right();
      if (i > 0) unit.first.input = Signal(first.in_channels(), first.left(), stage.length);
      if (!from.second.empty()) {
        const Conv& second = from.second[i];
        unit.second = {&second, Signal(second.in_channels(), second.left(), stage.length), 0};
        unit.reach += second.right();
      }
      block.reach += unit.reach;
      block.units.push_back(std::move(unit));
    }
    left = std::max(left, from.first.front().left());
    stage.reach = std::max(stage.reach, block.reach);
    stage.blocks.push_back(std::move(block));
  }
  stage.input = Signal(weights.blocks.front().first.front().in_channels(), left, stage.length);
  return stage;
}

at::Tensor DecoderStream::step(const at::Tensor& latents, std::int64_t count) {
  const Conv& pre = *pre_.conv;
  const Signal::Window z = pre_.input.extend(latents, count, slack_of(pre));
  std::int64_t ready = std::max(pre_.done, pre_.input.frontier(pre.right())) - pre_.done;
  at::Tensor x = pre(z.from(pre_.done - pre.left()), ready).slice(0, 0, ready);
  pre_.done += ready;
  pre_.input.keep(z, pre_.done - pre.left());
  if (condition_.defined()) x.add_(condition_);
  for (Stage& stage : stages_) x = run_stage(stage, upsample(stage, at::leaky_relu_(x, slope_), x.size(0)));

  return run_post(at::leaky_relu_(x, kLastSlope));
}

/// A convolution to one channel is slow as such: here each row is multiplied by all taps, and what belongs to a sample
/// lies on a diagonal.
at::Tensor DecoderStream::run_post(const at::Tensor& active) {
  const Conv& post = *post_.conv;
  const std::int64_t reach = weights_.taps - 1;
  const Signal::Window last = post_.input.extend(active, active.size(0), post.granule() + reach);
  const std::int64_t begin = post_.done;
  post_.done = std::max(begin, post_.input.frontier(reach / 2));
  const std::int64_t ready = post_.done - begin;
  if (ready == 0) return at::empty({0}, float_options());
  const at::Tensor products = post(last.from(begin - reach / 2), ready + reach);
  post_.input.keep(last, post_.done - reach / 2);
  const std::int64_t taps = products.size(1);
  at::Tensor samples = products.as_strided({ready, weights_.taps}, {taps, taps + 1}).sum(1);
  if (weights_.post_bias.defined()) samples.add_(weights_.post_bias);
  return samples.tanh_();
}

/// The stage's new rows. A transposed convolution is one over blocks of `rate` rows, shifted by its padding.
at::Tensor DecoderStream::upsample(Stage& stage, const at::Tensor& active, std::int64_t count) {
  Layer& up = stage.up;
  const Conv& conv = *up.conv;
  const Signal::Window input = up.input.extend(active, count, slack_of(conv));
  const std::int64_t blocks = up.input.is_complete()
                                  ? (stage.length + stage.padding + stage.rate - 1) / stage.rate  // the padding's too
                                  : up.input.end();
  const std::int64_t ready = blocks - up.done;
  const std::int64_t first = up.done * stage.rate - stage.padding;  // position of the first row that comes out
  const at::Tensor rows = conv(input.from(up.done - conv.reach()), ready)
                              .slice(0, 0, ready)
                              .reshape({ready * stage.rate, conv.out_channels() / stage.rate});
  up.done = blocks;
  up.input.keep(input, std::min(up.input.end(), up.done - conv.reach()));
  const std::int64_t end = std::min(stage.length, first + rows.size(0));
  return rows.slice(0, std::max<std::int64_t>(0, -first), end - first);
}

at::Tensor DecoderStream::run_stage(Stage& stage, const at::Tensor& fresh) {
  std::int64_t slack = 0;
  for (const Block& block : stage.blocks) slack = std::max(slack, slack_of(*block.units.front().first.conv));
  const Signal::Window input = stage.input.extend(fresh, fresh.size(0), slack);
  const at::Tensor active = at::leaky_relu(input.rows, slope_);
  const std::int64_t frontier = stage.input.frontier(stage.reach);
  at::Tensor sum;
  std::int64_t keep = stage.input.end();
  for (Block& block : stage.blocks) {
    const at::Tensor out = run_block(block, input, active, frontier, stage.length);
    sum = sum.defined() ? sum.add_(out) : out;
    keep = std::min(keep, block.units.front().still_reads());
  }
  stage.input.keep(input, keep);
  return sum;
}

/// The block's new rows before `frontier`.
at::Tensor DecoderStream::run_block(Block& block, const Signal::Window& input, const at::Tensor& active,
                                    std::int64_t frontier, std::int64_t length) const {
  Signal::Window raw = input;
  at::Tensor activated = active;
  at::Tensor out;
  std::int64_t later = block.reach;
  for (std::size_t i = 0; i < block.units.size(); ++i) {
    Unit& unit = block.units[i];
    if (i > 0) {
      raw = unit.first.input.extend(out, out.size(0), slack_of(*unit.first.conv));
      activated = at::leaky_relu(raw.rows, slope_);
    }
    later -= unit.reach;
    out = run_unit(unit, raw, activated, frontier + later, length);
    if (i > 0) {
      unit.first.input.keep(raw, unit.still_reads());
    }
  }
  return out;
}

at::Tensor DecoderStream::run_unit(Unit& unit, const Signal::Window& raw, const at::Tensor& active,
                                   std::int64_t frontier, std::int64_t length) const {
  Layer& first = unit.first;
  Layer& second = unit.second;
  const std::int64_t after = second.conv != nullptr ? second.conv->right() : 0;
  std::int64_t begin = first.done;
  first.done = target_of(begin, frontier + after, length);
  std::int64_t ready = first.done - begin;
  at::Tensor out = (*first.conv)(active.slice(0, begin - first.conv->left() - raw.begin), ready).slice(0, 0, ready);
  if (second.conv != nullptr) {
    const Signal::Window hidden = second.input.extend(at::leaky_relu_(out, slope_), ready, slack_of(*second.conv));
    begin = second.done;
    second.done = target_of(begin, frontier, length);
    ready = second.done - begin;
    out = (*second.conv)(hidden.from(begin - second.conv->left()), ready).slice(0, 0, ready);
    second.input.keep(hidden, second.done - second.conv->left());
  }
  return out.add_(raw.range(begin, begin + ready));
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

}  // namespace timbre::vits
