// SPDX-License-Identifier: MIT
#include "vits/flow.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <utility>

namespace timbre::vits {
namespace {

/// Zero rows behind `x`, up to whole blocks of `conv`.
at::Tensor whole_blocks(const at::Tensor& x, const Conv& conv) {
  return at::constant_pad_nd(x, {0, 0, 0, round_up(x.size(0), conv.granule()) - x.size(0)});
}

}  // namespace

std::int64_t flow_reach_frames(const VitsConfig& config) {
  std::int64_t reach = 0;
  std::int64_t dilation = 1;
  for (std::int64_t i = 0; i < config.wavenet_layers; ++i) {
    reach += (config.wavenet_kernel - 1) / 2 * dilation;
    dilation *= config.wavenet_dilation_rate;
  }
  return config.couplings * reach;
}

FlowStream::FlowStream(const FlowWeights& weights, const VitsConfig& config, std::int64_t frames,
                       const at::Tensor& voice) {
  for (const Coupling& coupling : weights.couplings) {
    Step step;
    step.weights = &coupling;
    step.input = Signal(config.latent, 0, frames);
    const at::Tensor condition = coupling.condition ? coupling.condition(voice) : at::Tensor();
    std::int64_t at = 0;
    for (const WaveNetLayer& from : coupling.layers) {
      Layer layer{&from, {}, Signal(from.in.in_channels(), from.in.left(), frames), 0};
      if (condition.defined()) layer.condition = condition.narrow(1, at, from.in.out_channels());
      at += from.in.out_channels();
      step.layers.push_back(std::move(layer));
    }
    step.skips = at::empty({0, config.hidden}, float_options());
    steps_.push_back(std::move(step));
  }
}

at::Tensor FlowStream::step(const at::Tensor& prior, std::int64_t count) {
  at::Tensor z = prior.slice(0, 0, count);
  for (Step& step : steps_) z = run(step, z);
  return z;
}

at::Tensor FlowStream::run(Step& step, const at::Tensor& z) {
  const Coupling& coupling = *step.weights;
  const std::int64_t half = z.size(1) / 2;
  const Signal::Window input = step.input.extend(z, z.size(0), 0);
  at::Tensor x = coupling.pre(whole_blocks(z.narrow(1, coupling.from, half), coupling.pre), z.size(0));
  x = x.slice(0, 0, z.size(0));
  for (Layer& layer : step.layers) x = run_layer(layer, x, step);

  const std::int64_t ready = step.layers.back().done - step.done;
  const at::Tensor shift = coupling.post(whole_blocks(step.skips.slice(0, 0, ready), coupling.post), ready);
  step.skips = step.skips.slice(0, ready).clone();
  at::Tensor out = input.range(step.done, step.done + ready).clone();
  out.narrow(1, coupling.to, half).sub_(shift.slice(0, 0, ready));
  step.done += ready;
  step.input.keep(input, step.done);
  return out;
}

/// The input rows of the layer behind it; what the layer skips is added to the step's.
at::Tensor FlowStream::run_layer(Layer& layer, const at::Tensor& fresh, Step& step) {
  const Conv& in = layer.weights->in;
  const Conv& res_skip = layer.weights->res_skip;
  const std::int64_t width = in.in_channels();
  const Signal::Window x = layer.input.extend(fresh, fresh.size(0), in.granule() + in.reach());
  const std::int64_t begin = layer.done;
  layer.done = std::max(begin, layer.input.frontier(in.right()));
  const std::int64_t ready = layer.done - begin;
  at::Tensor gates = in(x.from(begin - in.left()), ready);
  if (layer.condition.defined()) gates.add_(layer.condition);
  const at::Tensor active = at::tanh(gates.narrow(1, 0, width)).mul_(at::sigmoid(gates.narrow(1, width, width)));
  const at::Tensor out = res_skip(active, ready).slice(0, 0, ready);
  const bool is_last = out.size(1) == width;
  const at::Tensor skip = is_last ? out : out.narrow(1, width, width);
  const std::int64_t at = begin - step.done;
  if (&layer == &step.layers.front()) {
    step.skips = at::cat({step.skips, skip});
  } else {
    step.skips.slice(0, at, at + ready).add_(skip);
  }
  const at::Tensor next = is_last ? at::Tensor() : x.range(begin, layer.done) + out.narrow(1, 0, width);
  layer.input.keep(x, layer.done - in.left());
  return next;
}

}  // namespace timbre::vits
