// SPDX-License-Identifier: MIT
#include "vits/flow.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

namespace timbre::vits {
namespace {

/// WaveNet with gated activations; what the coupling shifts its second half by.
at::Tensor run_wavenet(const Coupling& coupling, at::Tensor x, const at::Tensor& voice) {
  const std::int64_t width = x.size(1);
  const at::Tensor condition = coupling.condition ? coupling.condition(voice) : at::Tensor();
  at::Tensor skip;
  for (std::size_t i = 0; i < coupling.layers.size(); ++i) {
    const WaveNetLayer& layer = coupling.layers[i];
    at::Tensor gates = layer.in(x);
    if (condition.defined()) gates.add_(condition.narrow(1, 2 * width * static_cast<std::int64_t>(i), 2 * width));
    const at::Tensor out =
        layer.res_skip(at::tanh(gates.narrow(1, 0, width)).mul_(at::sigmoid(gates.narrow(1, width, width))));
    const bool last = out.size(1) == width;
    const at::Tensor part = last ? out : out.narrow(1, width, width);
    skip = skip.defined() ? skip.add_(part) : part.clone();
    if (!last) x = x + out.narrow(1, 0, width);
  }
  return coupling.post(skip);
}

}  // namespace

at::Tensor run_flow(const FlowWeights& weights, at::Tensor z, const at::Tensor& voice) {
  const std::int64_t half = z.size(1) / 2;
  for (const Coupling& coupling : weights.couplings) {
    z = at::flip(z, {1});
    const at::Tensor first = z.narrow(1, 0, half).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor shift = run_wavenet(coupling, coupling.pre(first), voice);
    z = at::cat({first, z.narrow(1, half, half) - shift}, 1);
  }
  return z;
}

}  // namespace timbre::vits
