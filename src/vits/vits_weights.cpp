// SPDX-License-Identifier: MIT
#include "vits/vits_weights.hpp"

#include <ATen/ops/_weight_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace timbre::vits {
namespace {

using Shape = std::vector<std::int64_t>;

/// Frames in the smallest block of the flow and of the decoder: the steps of the schedule are multiples of them.
constexpr std::int64_t kFlowGranule = 16;
constexpr std::int64_t kDecoderGranule = 8;

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
  Affine parts(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel,
               std::int64_t groups = 1);
  Conv conv(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel, Conv::Shape shape = {});
  Affine affine(const std::string& name, std::int64_t in, std::int64_t out);
  Affine condition(const std::string& name, std::int64_t out);
  Conv attention_project(const std::string& name);
  Norm norm(const std::string& name, std::int64_t channels, double eps = 1e-5);
  Dds dds(const std::string& name, std::int64_t channels);
  TextEncoderWeights text();
  DurationWeights durations();
  void stochastic(DurationWeights& out);
  void deterministic(DurationWeights& out);
  FlowWeights flow();
  DecoderWeights decoder();
  Conv upsampler(std::size_t index, std::int64_t in, std::int64_t rate_in, double scale);
  ResBlock resblock(const std::string& name, std::int64_t channels, std::size_t index, std::int64_t granule);
  void post(DecoderWeights& out, std::int64_t channels, double scale);

  [[nodiscard]] bool is_faulty() const { return !fault_.message.empty(); }

  void fail(Status status, std::string text) {
    if (is_faulty()) return;
    fault_ = Error{status, where_ + ": " + std::move(text)};
  }

  const TensorSet& set_;
  const VitsConfig& config_;
  std::string where_;
  Error fault_;
};

at::Tensor Builder::take(const std::string& name, const Shape& shape) {
  const voice::TensorView* view = set_.find(name);
  if (is_faulty()) return {};
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

/// Weight [out, in / groups, kernel] and bias [out], where there is one.
Affine Builder::parts(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel,
                      std::int64_t groups) {
  Affine found{take_weight(name, {out, in / groups, kernel}), {}};
  const bool attention = name.find(".attn_layers.") != std::string::npos;
  const bool wanted = attention ? config_.attention_bias : name != "dec.conv_post";
  if (wanted || set_.contains(name + ".bias")) found.bias = take(name + ".bias", {out});
  return found;
}

Conv Builder::conv(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel, Conv::Shape shape) {
  const Affine found = parts(name, in, out, kernel, shape.groups);
  return is_faulty() ? Conv() : Conv(found.weight, found.bias, shape);
}

Affine Builder::affine(const std::string& name, std::int64_t in, std::int64_t out) {
  Affine found = parts(name, in, out, 1);
  if (!is_faulty()) found.weight = found.weight.squeeze(2);
  return found;
}

Affine Builder::condition(const std::string& name, std::int64_t out) {
  return config_.voice_dim == 0 ? Affine{} : affine(name, config_.voice_dim, out);
}

Norm Builder::norm(const std::string& name, std::int64_t channels, double eps) {
  return {take(name + ".gamma", {channels}), take(name + ".beta", {channels}), eps};
}

Conv Builder::attention_project(const std::string& name) {
  const std::int64_t hidden = config_.hidden;
  const Affine query = parts(name + ".conv_q", hidden, hidden, 1);
  const Affine key = parts(name + ".conv_k", hidden, hidden, 1);
  const Affine value = parts(name + ".conv_v", hidden, hidden, 1);
  if (is_faulty()) return {};
  at::Tensor bias;
  if (query.bias.defined()) bias = at::cat({query.bias, key.bias, value.bias});
  return {at::cat({query.weight, key.weight, value.weight}), bias, {}};
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
    layer.project = attention_project(attention);
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
    layer.separate =
        conv(name + ".convs_sep" + index, channels, channels, config_.duration_kernel, {dilation, channels});
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
    flow.pre = affine(name + ".pre", 1, channels);
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

/// The public graph reverses the channels before each coupling, which then reads the first half and shifts the second.
/// Here nothing moves: couplings take turns in which half they read, and every other one has its channels reversed.
FlowWeights Builder::flow() {
  FlowWeights out;
  const std::int64_t width = config_.hidden;
  const std::int64_t half = config_.latent / 2;
  for (std::int64_t i = config_.couplings; i-- > 0;) {
    const std::string name = "flow.flows." + std::to_string(2 * i);
    const bool is_reversed = out.couplings.size() % 2 == 0;
    Coupling coupling;
    coupling.from = is_reversed ? half : 0;
    coupling.to = half - coupling.from;
    Affine pre = parts(name + ".pre", half, width, 1);
    coupling.condition = condition(name + ".enc.cond_layer", 2 * width * config_.wavenet_layers);
    std::int64_t dilation = 1;
    for (std::int64_t j = 0; j < config_.wavenet_layers; ++j) {
      const std::string index = dotted(j);
      const std::int64_t skip = j + 1 < config_.wavenet_layers ? 2 * width : width;
      coupling.layers.push_back(
          {conv(name + ".enc.in_layers" + index, width, 2 * width, config_.wavenet_kernel, {dilation, 1, kFlowGranule}),
           conv(name + ".enc.res_skip_layers" + index, width, skip, 1, {1, 1, kFlowGranule})});
      dilation *= config_.wavenet_dilation_rate;
    }
    Affine post = parts(name + ".post", width, half, 1);
    if (is_faulty()) return out;
    if (is_reversed) {
      pre.weight = at::flip(pre.weight, {1});
      post = {at::flip(post.weight, {0}), at::flip(post.bias, {0})};
    }
    coupling.pre = Conv(pre.weight, pre.bias, {1, 1, kFlowGranule});
    coupling.post = Conv(post.weight, post.bias, {1, 1, kFlowGranule});
    out.couplings.push_back(std::move(coupling));
  }
  return out;
}

ResBlock Builder::resblock(const std::string& name, std::int64_t channels, std::size_t index, std::int64_t granule) {
  ResBlock block;
  const std::int64_t kernel = config_.resblock_kernels[index];
  const bool two = config_.resblock_type == 1;
  const auto& dilations = config_.resblock_dilations[index];
  for (std::size_t i = 0; i < dilations.size(); ++i) {
    const std::string part = dotted(i);
    block.first.push_back(
        conv(name + (two ? ".convs1" : ".convs") + part, channels, channels, kernel, {dilations[i], 1, granule}));
    if (two) block.second.push_back(conv(name + ".convs2" + part, channels, channels, kernel, {1, 1, granule}));
  }
  return block;
}

/// Row j of a transposed convolution's kernel [in, out, kernel] goes from input row i to output row i x rate + j -
/// padding. So block i of `rate` output rows, shifted by the padding, reads the input rows i, i - 1, ... in one
/// convolution.
Conv Builder::upsampler(std::size_t index, std::int64_t in, std::int64_t rate_in, double scale) {
  const std::string name = "dec.ups." + std::to_string(index);
  const std::int64_t rate = config_.upsample_rates[index];
  const std::int64_t kernel = config_.upsample_kernels[index];
  const std::int64_t out = in / 2;
  const at::Tensor weight = take_weight(name, {in, out, kernel});
  const at::Tensor bias = take(name + ".bias", {out});
  if (is_faulty()) return {};
  const std::int64_t blocks = (kernel + rate - 1) / rate;
  at::Tensor whole = at::zeros({in, out, blocks * rate}, float_options());
  whole.narrow(2, 0, kernel).copy_(weight).mul_(scale);
  const at::Tensor taps = at::flip(whole.view({in, out, blocks, rate}), {2});
  return {taps.permute({3, 1, 0, 2}).reshape({rate * out, in, blocks}),
          bias.repeat({rate}),
          {1, 1, kDecoderGranule * rate_in}};
}

void Builder::post(DecoderWeights& out, std::int64_t channels, double scale) {
  constexpr std::int64_t kTaps = 7;
  const Affine found = parts("dec.conv_post", channels, 1, kTaps);
  if (is_faulty()) return;
  at::Tensor taps = at::zeros({round_up(kTaps, 8), channels, 1}, float_options());
  taps.narrow(0, 0, kTaps).copy_(found.weight.permute({2, 1, 0})).mul_(scale);
  out.taps = kTaps;
  out.post = Conv(taps, {}, {1, 1, kDecoderGranule * config_.hop()});
  out.post_bias = found.bias;
}

DecoderWeights Builder::decoder() {
  DecoderWeights out;
  std::int64_t channels = config_.decoder_channels;
  Affine pre = parts("dec.conv_pre", config_.latent, channels, 7);
  if (is_faulty()) return out;
  if (config_.couplings % 2 == 1) pre.weight = at::flip(pre.weight, {1});  // the flow's last reversal
  out.pre = Conv(pre.weight, pre.bias, {1, 1, kDecoderGranule});
  out.condition = condition("dec.cond", channels);
  const std::size_t kinds = config_.resblock_kernels.size();
  std::int64_t rate = 1;
  double scale = 1;
  for (std::size_t i = 0; i < config_.upsample_rates.size(); ++i) {
    DecoderStage stage;
    stage.up = upsampler(i, channels, rate, scale);
    scale = 1.0 / static_cast<double>(kinds);
    channels /= 2;
    rate *= config_.upsample_rates[i];
    for (std::size_t j = 0; j < kinds; ++j) {
      stage.blocks.push_back(
          resblock("dec.resblocks." + std::to_string(i * kinds + j), channels, j, kDecoderGranule * rate));
    }
    out.stages.push_back(std::move(stage));
  }
  post(out, channels, scale);
  return out;
}

Result<VitsWeights> Builder::build() {
  VitsWeights out;
  out.text = text();
  out.durations = durations();
  out.flow = flow();
  out.decoder = decoder();
  if (config_.voice_dim > 0) out.speakers = take("emb_g.weight", {config_.speakers, config_.voice_dim});
  if (is_faulty()) return fault_;
  return out;
}

}  // namespace

void for_each_conv(const VitsWeights& weights, const std::function<void(const Conv&)>& visit) {
  const auto see = [&visit](const Conv& conv) {
    if (conv) visit(conv);
  };
  const auto see_dds = [&see](const Dds& dds) {
    for (const DdsLayer& layer : dds.layers) see(layer.separate), see(layer.mix);
  };
  for (const AttentionLayer& layer : weights.text.layers) {
    see(layer.project), see(layer.out), see(layer.ffn_1), see(layer.ffn_2);
  }
  see(weights.text.project);
  const DurationWeights& durations = weights.durations;
  for (const Conv* conv : {&durations.pre, &durations.project, &durations.conv_1, &durations.conv_2, &durations.out}) {
    see(*conv);
  }
  see_dds(durations.dds);
  for (const DurationFlow& flow : durations.flows) see_dds(flow.dds), see(flow.project);
  for (const Coupling& coupling : weights.flow.couplings) {
    see(coupling.pre), see(coupling.post);
    for (const WaveNetLayer& layer : coupling.layers) see(layer.in), see(layer.res_skip);
  }
  see(weights.decoder.pre), see(weights.decoder.post);
  for (const DecoderStage& stage : weights.decoder.stages) {
    see(stage.up);
    for (const ResBlock& block : stage.blocks) {
      for (const Conv& conv : block.first) see(conv);
      for (const Conv& conv : block.second) see(conv);
    }
  }
}

Result<VitsWeights> build_weights(const TensorSet& set, const VitsConfig& config, std::string_view where) {
  return Builder(set, config, where).build();
}

}  // namespace timbre::vits
