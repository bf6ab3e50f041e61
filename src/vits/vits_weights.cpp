// SPDX-License-Identifier: MIT
#include "vits/vits_weights.hpp"

#include <ATen/ops/_weight_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace timbre::vits {
namespace {

using Shape = std::vector<std::int64_t>;

template <typename Index>
std::string dotted(Index index) {
  std::string text = std::to_string(index);
  text.insert(text.begin(), '.');
  return text;
}

/// Takes tensors by name and shape. The first fault is kept; later takes then give undefined tensors.
class Builder {
 public:
  Builder(const TensorSet& set, const VitsConfig& config, std::string_view where)
      : set_(set), config_(config), where_(where) {}

  Result<VitsWeights> build();

 private:
  at::Tensor take(const std::string& name, const Shape& shape);
  at::Tensor take_weight(const std::string& name, const Shape& shape);
  Conv conv(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t dilation = 1,
            std::int64_t groups = 1);
  Conv condition(const std::string& name, std::int64_t out);
  Norm norm(const std::string& name, std::int64_t channels, double eps = 1e-5);
  Dds dds(const std::string& name, std::int64_t channels);
  TextEncoderWeights text();
  DurationWeights durations();
  void stochastic(DurationWeights& out);
  void deterministic(DurationWeights& out);
  FlowWeights flow();
  DecoderWeights decoder();
  ResBlock resblock(const std::string& name, std::int64_t channels, std::size_t index);

  void fail(Status status, std::string text) {
    if (!fault_.message.empty()) return;
    fault_ = Error{status, where_ + ": " + std::move(text)};
  }

  const TensorSet& set_;
  const VitsConfig& config_;
  std::string where_;
  Error fault_;
};

at::Tensor Builder::take(const std::string& name, const Shape& shape) {
  const voice::TensorView* view = set_.find(name);
  if (!fault_.message.empty()) return {};
  if (view == nullptr) return fail(Status::kFormat, "tensor \"" + name + "\" is missing"), at::Tensor();
  Shape found = view->shape;  // a Linear [out, in] stands for a Conv1d [out, in, 1]
  while (found.size() < shape.size() && shape[found.size()] == 1) found.push_back(1);
  if (found != shape) {
    fail(Status::kMismatch, "tensor \"" + name + "\" is " + voice::shape_text(view->shape) +
                                " where the configuration wants " + voice::shape_text(shape));
    return {};
  }
  const std::vector<float> values = voice::to_floats(*view);
  at::Tensor out = at::empty(shape, float_options());
  if (values.size() != static_cast<std::size_t>(out.numel())) {
    fail(Status::kFormat, "tensor \"" + name + "\" is " + std::string(voice::dtype_name(view->dtype)) +
                              " where real numbers are wanted");
    return {};
  }
  for (const float value : values) {
    if (!std::isfinite(value)) {
      fail(Status::kFormat, "tensor \"" + name + "\" holds a value that is not finite");
      return {};
    }
  }
  if (!values.empty()) std::memcpy(out.data_ptr<float>(), values.data(), values.size() * sizeof(float));
  return out;
}

/// A weight in any of its forms: plain, or direction v and length g of a weight norm over dimension 0.
at::Tensor Builder::take_weight(const std::string& name, const Shape& shape) {
  const std::pair<const char*, const char*> forms[] = {
      {".weight_g", ".weight_v"}, {".parametrizations.weight.original0", ".parametrizations.weight.original1"}};
  for (const auto& [length, direction] : forms) {
    if (!set_.contains(name + length) || !set_.contains(name + direction)) continue;
    const at::Tensor g = take(name + length, Shape{shape[0], 1, 1});
    const at::Tensor v = take(name + direction, shape);
    if (!g.defined() || !v.defined()) return {};
    const at::Tensor folded = at::_weight_norm(v, g, 0);
    if (!std::isfinite(folded.abs().sum().item<double>())) {
      fail(Status::kFormat, "tensor \"" + name + direction + "\" has a direction of length 0");
    }
    return folded;
  }
  return take(name + ".weight", shape);
}

Conv Builder::conv(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t dilation, std::int64_t groups) {
  Conv conv;
  const at::Tensor weight = take_weight(name, {out, in / groups, kernel});
  if (!weight.defined()) return conv;
  conv.weight = weight.unsqueeze(2).contiguous(at::MemoryFormat::ChannelsLast);
  const bool attention = name.find(".attn_layers.") != std::string::npos;
  const bool wanted = attention ? config_.attention_bias : name != "dec.conv_post";
  if (wanted || set_.contains(name + ".bias")) conv.bias = take(name + ".bias", {out});
  conv.dilation = dilation;
  conv.groups = groups;
  conv.pad_left = (kernel - 1) * dilation / 2;
  conv.pad_right = (kernel - 1) * dilation - conv.pad_left;
  return conv;
}

Conv Builder::condition(const std::string& name, std::int64_t out) {
  return config_.voice_dim == 0 ? Conv{} : conv(name, config_.voice_dim, out, 1);
}

Norm Builder::norm(const std::string& name, std::int64_t channels, double eps) {
  return {take(name + ".gamma", {channels}), take(name + ".beta", {channels}), eps};
}

TextEncoderWeights Builder::text() {
  TextEncoderWeights out;
  const std::int64_t hidden = config_.hidden;
  out.embedding = take("enc_p.emb.weight", {config_.token_count, hidden});
  if (out.embedding.defined()) out.embedding.mul_(std::sqrt(static_cast<double>(hidden)));
  const std::int64_t head = config_.heads > 0 ? hidden / config_.heads : 0;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::string index = std::to_string(i);
    const std::string attention = "enc_p.encoder.attn_layers." + index;
    AttentionLayer layer;
    layer.query = conv(attention + ".conv_q", hidden, hidden, 1);
    layer.key = conv(attention + ".conv_k", hidden, hidden, 1);
    layer.value = conv(attention + ".conv_v", hidden, hidden, 1);
    layer.out = conv(attention + ".conv_o", hidden, hidden, 1);
    layer.relative_key = take(attention + ".emb_rel_k", {1, 2 * config_.window + 1, head});
    layer.relative_value = take(attention + ".emb_rel_v", {1, 2 * config_.window + 1, head});
    if (layer.relative_value.defined()) {
      layer.relative_key = layer.relative_key.squeeze(0);
      layer.relative_value = layer.relative_value.squeeze(0);
    }
    layer.norm_1 = norm("enc_p.encoder.norm_layers_1." + index, hidden, config_.layer_norm_eps);
    layer.norm_2 = norm("enc_p.encoder.norm_layers_2." + index, hidden, config_.layer_norm_eps);
    const std::string ffn = "enc_p.encoder.ffn_layers." + index;
    layer.ffn_1 = conv(ffn + ".conv_1", hidden, config_.ffn_channels, config_.ffn_kernel);
    layer.ffn_2 = conv(ffn + ".conv_2", config_.ffn_channels, hidden, config_.ffn_kernel);
    out.layers.push_back(std::move(layer));
  }
  out.project = conv("enc_p.proj", hidden, 2 * config_.latent, 1);
  return out;
}

Dds Builder::dds(const std::string& name, std::int64_t channels) {
  Dds out;
  std::int64_t dilation = 1;
  for (std::int64_t i = 0; i < config_.dds_layers; ++i) {
    const std::string index = dotted(i);
    DdsLayer layer;
    layer.separate = conv(name + ".convs_sep" + index, channels, channels, config_.duration_kernel, dilation, channels);
    layer.mix = conv(name + ".convs_1x1" + index, channels, channels, 1);
    layer.norm_1 = norm(name + ".norms_1" + index, channels);
    layer.norm_2 = norm(name + ".norms_2" + index, channels);
    out.layers.push_back(std::move(layer));
    dilation *= config_.duration_kernel;
  }
  return out;
}

void Builder::stochastic(DurationWeights& out) {
  const std::int64_t channels = config_.duration_channels;
  out.condition = condition("dp.cond", channels);
  out.pre = conv("dp.pre", config_.hidden, channels, 1);
  out.dds = dds("dp.convs", channels);
  out.project = conv("dp.proj", channels, channels, 1);
  for (std::int64_t i = config_.duration_flows; i > 0; --i) {
    const std::string name = "dp.flows." + std::to_string(2 * i + 1);
    DurationFlow flow;
    flow.pre = conv(name + ".pre", 1, channels, 1);
    flow.dds = dds(name + ".convs", channels);
    flow.project = conv(name + ".proj", channels, 3 * config_.spline_bins - 1, 1);
    out.flows.push_back(std::move(flow));
  }
  out.affine_mean = take("dp.flows.0.m", {2, 1});
  if (set_.contains("dp.flows.0.exp_neg_logs")) {
    out.affine_scale = take("dp.flows.0.exp_neg_logs", {2, 1});
  } else if (set_.contains("dp.flows.0.neg_logs")) {
    const at::Tensor logs = take("dp.flows.0.neg_logs", {2, 1});
    if (logs.defined()) out.affine_scale = at::exp(logs);
  } else {
    const at::Tensor logs = take("dp.flows.0.logs", {2, 1});
    if (logs.defined()) out.affine_scale = at::exp(logs.neg());
  }
}

void Builder::deterministic(DurationWeights& out) {
  const std::int64_t channels = config_.duration_channels;
  out.condition = condition("dp.cond", config_.hidden);
  out.conv_1 = conv("dp.conv_1", config_.hidden, channels, config_.duration_kernel);
  out.norm_1 = norm("dp.norm_1", channels, config_.layer_norm_eps);
  out.conv_2 = conv("dp.conv_2", channels, channels, config_.duration_kernel);
  out.norm_2 = norm("dp.norm_2", channels, config_.layer_norm_eps);
  out.out = conv("dp.proj", channels, 1, 1);
}

DurationWeights Builder::durations() {
  DurationWeights out;
  if (config_.stochastic_durations) {
    stochastic(out);
  } else {
    deterministic(out);
  }
  return out;
}

FlowWeights Builder::flow() {
  FlowWeights out;
  const std::int64_t width = config_.hidden;
  for (std::int64_t i = config_.couplings; i-- > 0;) {
    const std::string name = "flow.flows." + std::to_string(2 * i);
    Coupling coupling;
    coupling.pre = conv(name + ".pre", config_.latent / 2, width, 1);
    coupling.condition = condition(name + ".enc.cond_layer", 2 * width * config_.wavenet_layers);
    std::int64_t dilation = 1;
    for (std::int64_t j = 0; j < config_.wavenet_layers; ++j) {
      const std::string index = dotted(j);
      const std::int64_t skip = j + 1 < config_.wavenet_layers ? 2 * width : width;
      coupling.layers.push_back(
          {conv(name + ".enc.in_layers" + index, width, 2 * width, config_.wavenet_kernel, dilation),
           conv(name + ".enc.res_skip_layers" + index, width, skip, 1)});
      dilation *= config_.wavenet_dilation_rate;
    }
    coupling.post = conv(name + ".post", width, config_.latent / 2, 1);
    out.couplings.push_back(std::move(coupling));
  }
  return out;
}

ResBlock Builder::resblock(const std::string& name, std::int64_t channels, std::size_t index) {
  ResBlock block;
  const std::int64_t kernel = config_.resblock_kernels[index];
  const bool two = config_.resblock_type == 1;
  const auto& dilations = config_.resblock_dilations[index];
  for (std::size_t i = 0; i < dilations.size(); ++i) {
    const std::string part = dotted(i);
    block.first.push_back(conv(name + (two ? ".convs1" : ".convs") + part, channels, channels, kernel, dilations[i]));
    if (two) block.second.push_back(conv(name + ".convs2" + part, channels, channels, kernel));
  }
  return block;
}

DecoderWeights Builder::decoder() {
  DecoderWeights out;
  std::int64_t channels = config_.decoder_channels;
  out.pre = conv("dec.conv_pre", config_.latent, channels, 7);
  out.condition = condition("dec.cond", channels);
  std::size_t block = 0;
  for (std::size_t i = 0; i < config_.upsample_rates.size(); ++i) {
    const std::string name = "dec.ups." + std::to_string(i);
    const std::int64_t kernel = config_.upsample_kernels[i];
    DecoderStage stage;
    const at::Tensor weight = take_weight(name, {channels, channels / 2, kernel});
    stage.up.stride = config_.upsample_rates[i];
    stage.up.padding = (kernel - stage.up.stride) / 2;
    if (weight.defined()) stage.up.weight = weight.unsqueeze(2).contiguous(at::MemoryFormat::ChannelsLast);
    stage.up.bias = take(name + ".bias", {channels / 2});
    channels /= 2;
    for (std::size_t j = 0; j < config_.resblock_kernels.size(); ++j) {
      stage.blocks.push_back(resblock("dec.resblocks." + std::to_string(block++), channels, j));
    }
    out.stages.push_back(std::move(stage));
  }
  out.post = conv("dec.conv_post", channels, 1, 7);
  return out;
}

Result<VitsWeights> Builder::build() {
  VitsWeights out;
  out.text = text();
  out.durations = durations();
  out.flow = flow();
  out.decoder = decoder();
  if (config_.voice_dim > 0) out.speakers = take("emb_g.weight", {config_.speakers, config_.voice_dim});
  if (!fault_.message.empty()) return fault_;
  return out;
}

}  // namespace

Result<VitsWeights> build_weights(const TensorSet& set, const VitsConfig& config, std::string_view where) {
  return Builder(set, config, where).build();
}

}  // namespace timbre::vits
