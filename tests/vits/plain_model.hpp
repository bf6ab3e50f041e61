// SPDX-License-Identifier: MIT
//
// Flow and decoder written down once more as the paper's public code has them: whole sentences, plain convolutions,
// nothing folded, nothing kept. The oracle of the streams. Signals are [1, channels, frames].
#pragma once

#include <ATen/ops/cat.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv_transpose1d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include <string>

#include "model_case.hpp"
#include "vits/nn.hpp"
#include "vits/tensor_set.hpp"
#include "vits/vits_config.hpp"

namespace timbre::vits_test {

class PlainModel {
 public:
  PlainModel(const vits::TensorSet& set, const vits::VitsConfig& config) : set_(set), config_(config) {}

  /// @param g  [1, voice_dim, 1]; undefined without conditioning.
  [[nodiscard]] at::Tensor flow(at::Tensor z, const at::Tensor& g) const {
    const std::int64_t half = config_.latent / 2;
    for (std::int64_t i = config_.couplings; i-- > 0;) {
      const std::string name = "flow.flows." + std::to_string(2 * i);
      z = at::flip(z, {1});
      const at::Tensor first = z.narrow(1, 0, half);
      const at::Tensor shift = conv(name + ".post", wavenet(name + ".enc", conv(name + ".pre", first), g));
      z = at::cat({first, z.narrow(1, half, half) - shift}, 1);
    }
    return config_.couplings % 2 == 1 ? at::flip(z, {1}) : z;
  }

  [[nodiscard]] at::Tensor decode(const at::Tensor& z, const at::Tensor& g) const {
    at::Tensor x = conv("dec.conv_pre", z);
    if (g.defined()) x = x + conv("dec.cond", g);
    const std::size_t kinds = config_.resblock_kernels.size();
    for (std::size_t i = 0; i < config_.upsample_rates.size(); ++i) {
      const std::string name = "dec.ups." + std::to_string(i);
      const std::int64_t rate = config_.upsample_rates[i];
      x = at::conv_transpose1d(at::leaky_relu(x, config_.leaky_slope), tensor(name + ".weight"), tensor(name + ".bias"),
                               rate, (config_.upsample_kernels[i] - rate) / 2);
      at::Tensor sum;
      for (std::size_t j = 0; j < kinds; ++j) {
        const at::Tensor y =
            resblock("dec.resblocks." + std::to_string(i * kinds + j), x, config_.resblock_dilations[j]);
        sum = sum.defined() ? sum + y : y;
      }
      x = sum / static_cast<double>(kinds);
    }
    return at::tanh(conv("dec.conv_post", at::leaky_relu(x, 0.01))).reshape({-1});
  }

 private:
  [[nodiscard]] at::Tensor tensor(const std::string& name) const {
    INFO(name);
    const voice::TensorView* view = set_.find(name);
    REQUIRE(view != nullptr);
    const std::vector<float> floats = voice::to_floats(*view);
    at::Tensor out = at::empty(view->shape, vits::float_options());
    std::memcpy(out.data_ptr<float>(), floats.data(), floats.size() * sizeof(float));
    return out;
  }

  [[nodiscard]] at::Tensor conv(const std::string& name, const at::Tensor& x, std::int64_t dilation = 1) const {
    const at::Tensor weight = tensor(name + ".weight");
    const at::Tensor bias = set_.contains(name + ".bias") ? tensor(name + ".bias") : at::Tensor();
    return at::conv1d(x, weight, bias, 1, (weight.size(2) - 1) * dilation / 2, dilation);
  }

  [[nodiscard]] at::Tensor wavenet(const std::string& name, at::Tensor x, const at::Tensor& g) const {
    const std::int64_t width = config_.hidden;
    const at::Tensor condition = g.defined() ? conv(name + ".cond_layer", g) : at::Tensor();
    at::Tensor skip;
    for (std::int64_t i = 0; i < config_.wavenet_layers; ++i) {
      at::Tensor gates = conv(name + ".in_layers." + std::to_string(i), x);
      if (condition.defined()) gates = gates + condition.narrow(1, 2 * width * i, 2 * width);
      const at::Tensor out = conv(name + ".res_skip_layers." + std::to_string(i),
                                  at::tanh(gates.narrow(1, 0, width)) * at::sigmoid(gates.narrow(1, width, width)));
      const bool is_last = out.size(1) == width;
      const at::Tensor part = is_last ? out : out.narrow(1, width, width);
      skip = skip.defined() ? skip + part : part;
      if (!is_last) x = x + out.narrow(1, 0, width);
    }
    return skip;
  }

  [[nodiscard]] at::Tensor resblock(const std::string& name, at::Tensor x,
                                    const std::vector<std::int64_t>& dilations) const {
    const bool two = config_.resblock_type == 1;
    for (std::size_t i = 0; i < dilations.size(); ++i) {
      const std::string index = std::to_string(i);
      at::Tensor y = at::leaky_relu(x, config_.leaky_slope);
      y = conv(name + (two ? ".convs1." : ".convs.") + index, y, dilations[i]);
      if (two) y = conv(name + ".convs2." + index, at::leaky_relu(y, config_.leaky_slope));
      x = x + y;
    }
    return x;
  }

  const vits::TensorSet& set_;
  const vits::VitsConfig& config_;
};

}  // namespace timbre::vits_test
