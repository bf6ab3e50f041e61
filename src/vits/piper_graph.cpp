// SPDX-License-Identifier: MIT
//
// A walk over the LayerGraph. The first thing that does not fit is kept as the fault; every later step then finds
// nothing, so that the walk needs no check after each step.
#include "vits/piper_graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "vits/layer_graph.hpp"

namespace timbre::vits {
namespace {

constexpr std::size_t kNone = SIZE_MAX;
constexpr std::size_t kMaxRepeats = 64;  // layers, flows, stages: more than any VITS has of each

class Walk {
 public:
  Walk(const LayerGraph& graph, std::string_view where) : graph_(graph), where_(where) {
    used_.resize(graph.layers().size(), false);
  }

  Result<PiperGraph> run();

 private:
  using Test = std::function<bool(const Layer&)>;

  [[nodiscard]] const Layer& at(std::size_t index) const {
    static const voice::TensorView kEmpty{};
    static const Layer kNothing = [] {
      Layer layer;
      layer.weight = &kEmpty;
      return layer;
    }();
    return index == kNone ? kNothing : graph_.layers()[index];
  }
  void fault(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }
  [[nodiscard]] bool failed() const { return !fault_.empty(); }

  /// The nearest layer below `from` that passes; kNone if there is none.
  [[nodiscard]] std::size_t find(std::size_t from, const Test& test) const;
  /// As find(), a fault if there is none.
  std::size_t next(std::size_t from, const Test& test, const std::string& name);
  /// Keeps a layer's tensors under its canonical name.
  void keep(std::size_t index, const std::string& name);
  void keep_tensor(const voice::TensorView* view, const std::string& name);

  void check_inputs();
  void find_embeddings();
  void read_encoder();
  bool read_attention(std::size_t from, const std::string& index, std::size_t& out);
  void read_relative(const OnnxNode* matmul, const std::string& name);
  void read_projection(std::size_t hidden);
  std::size_t read_dds(std::size_t from, const std::string& name);
  void read_durations();
  void read_affine();
  std::size_t read_coupling(std::size_t pre, const std::string& name);
  void read_flow();
  void read_decoder();
  std::size_t read_resblock(std::size_t up, std::size_t start, const std::string& name, std::size_t index);
  void check_upsampler(const Layer& up);
  void check_slope(const Layer& layer, double slope);
  void check_output(std::size_t conv_post);
  /// The speaker layer among the ups of a layer, kept under `name`; adds nothing for a single speaker.
  void read_condition(std::size_t at_layer, const std::string& name);
  void check_all_used();

  const LayerGraph& graph_;
  std::string where_;
  std::string fault_;
  std::vector<bool> used_;
  std::size_t phonemes_ = kNone;
  std::size_t speakers_ = kNone;
  std::size_t projection_ = kNone;
  std::size_t duration_pre_ = kNone;
  std::size_t latents_ = kNone;
  PiperGraph out_;
};

std::string dotted(std::size_t index) { return std::string(".") + std::to_string(index); }

bool pointwise(const Layer& layer) { return layer.is_conv() && layer.kernel() == 1 && layer.groups == 1; }
bool norm(const Layer& layer) { return layer.kind == LayerKind::kNorm; }
bool conv(const Layer& layer) { return layer.is_conv() && layer.groups == 1; }
bool depthwise(const Layer& layer) { return layer.depthwise(); }

std::size_t Walk::find(std::size_t from, const Test& test) const {
  std::size_t best = kNone;
  for (const std::size_t down : at(from).downs) {
    if (used_[down] || !test(at(down))) continue;
    if (best == kNone || at(down).depth < at(best).depth) best = down;
  }
  return best;
}

std::size_t Walk::next(std::size_t from, const Test& test, const std::string& name) {
  const std::size_t found = failed() ? kNone : find(from, test);
  if (found == kNone) fault("no layer in the graph has the place of " + name);
  return found;
}

void Walk::keep_tensor(const voice::TensorView* view, const std::string& name) {
  if (view == nullptr) return fault("no tensor in the graph has the place of " + name);
  out_.tensors.tensors.insert_or_assign(name, *view);
}

void Walk::keep(std::size_t index, const std::string& name) {
  if (failed() || index == kNone) return;
  const Layer& layer = at(index);
  used_[index] = true;
  const bool is_norm = layer.kind == LayerKind::kNorm;
  keep_tensor(layer.weight, name + (is_norm ? ".gamma" : ".weight"));
  if (layer.bias != nullptr) keep_tensor(layer.bias, name + (is_norm ? ".beta" : ".bias"));
}

/// Piper's graph takes input, input_lengths, scales and, with several speakers, sid: nothing else.
void Walk::check_inputs() {
  std::vector<OnnxInput> inputs;
  for (const OnnxInput& input : graph_.graph().inputs) {
    if (graph_.constant(input.name) == nullptr) inputs.push_back(input);
  }
  if (inputs.size() == 3 || inputs.size() == 4) return;
  std::string names;
  for (const OnnxInput& input : inputs) names += (names.empty() ? "" : ", ") + std::string(input.name);
  fault("the graph takes " + std::to_string(inputs.size()) + " inputs (" + names +
        ") where a Piper voice takes input, input_lengths, scales and for several speakers sid");
}

/// The phoneme table leads to a layer norm without a convolution between, the speaker table does not.
void Walk::find_embeddings() {
  for (std::size_t i = 0; i < graph_.layers().size(); ++i) {
    if (at(i).kind != LayerKind::kEmbedding) continue;
    const bool phonemes = find(i, norm) != kNone;
    std::size_t& slot = phonemes ? phonemes_ : speakers_;
    if (slot != kNone) return fault("the graph has more embeddings than phonemes and speakers (languages, prosody?)");
    slot = i;
  }
  if (phonemes_ == kNone)
    return fault("there is no phoneme embedding followed by a text encoder; this is no VITS graph");
  keep(phonemes_, "enc_p.emb");
  out_.config.token_count = at(phonemes_).size(0);
  out_.config.hidden = at(phonemes_).size(1);
  if (speakers_ == kNone) return;
  keep(speakers_, "emb_g");
  out_.config.speakers = at(speakers_).size(0);
  out_.config.voice_dim = at(speakers_).size(1);
}

/// Relative embeddings [1, 2 window + 1, head] enter a MatMul through padding and slicing.
void Walk::read_relative(const OnnxNode* matmul, const std::string& name) {
  if (matmul == nullptr || failed()) return fault("no relative positions in the graph for " + name);
  for (const std::string_view input : matmul->inputs) {
    std::string_view value = input;
    for (int step = 0; step < 16; ++step) {
      const voice::TensorView* found = graph_.constant(value);
      if (found != nullptr && found->shape.size() == 3) return keep_tensor(found, name);
      const OnnxNode* node = graph_.producer(value);
      if (found != nullptr || node == nullptr || node->inputs.empty() || node->op == "MatMul") break;
      value = node->inputs[0];
    }
  }
  fault("no relative positions in the graph for " + name);
}

/// One self-attention: of three convolutions, the query meets keys and relative keys, the key only the query.
bool Walk::read_attention(std::size_t from, const std::string& index, std::size_t& out) {
  const std::int64_t hidden = out_.config.hidden;
  std::vector<std::pair<std::size_t, std::set<const OnnxNode*>>> found;
  for (const std::size_t down : at(from).downs) {
    const Layer& layer = at(down);
    if (used_[down] || !pointwise(layer) || layer.in_channels() != hidden || layer.out_channels() != hidden) continue;
    if (auto matmuls = graph_.matmuls_of(layer); !matmuls.empty()) found.emplace_back(down, std::move(matmuls));
  }
  if (found.size() != 3) return false;
  const std::string name = "enc_p.encoder.attn_layers." + index;
  const auto query = std::find_if(found.begin(), found.end(), [](const auto& each) { return each.second.size() == 2; });
  if (query == found.end()) return fault("no query in " + name), false;
  std::iter_swap(found.begin(), query);
  const std::set<const OnnxNode*> of_query = found[0].second;
  if (!of_query.contains(*found[1].second.begin())) std::swap(found[1], found[2]);
  const OnnxNode* scores = *found[1].second.begin();
  if (!of_query.contains(scores) || of_query.contains(*found[2].second.begin())) {
    return fault("no key and value in " + name), false;
  }
  for (const OnnxNode* each : of_query) {
    if (each != scores) read_relative(each, name + ".emb_rel_k");
  }
  const char* parts[] = {".conv_q", ".conv_k", ".conv_v"};
  for (std::size_t i = 0; i < 3; ++i) keep(found[i].first, name + parts[i]);
  out = next(found[2].first, pointwise, name + ".conv_o");
  const OnnxNode* relative = nullptr;
  for (const OnnxNode* each : graph_.upstream(at(out).data, "MatMul").nodes) {
    if (each->op == "MatMul" && each != *found[2].second.begin()) relative = each;
  }
  read_relative(relative, name + ".emb_rel_v");
  keep(out, name + ".conv_o");
  return true;
}

void Walk::read_encoder() {
  std::size_t hidden = phonemes_;
  VitsConfig& config = out_.config;
  for (std::size_t i = 0; i < kMaxRepeats && !failed(); ++i) {
    const std::string index = std::to_string(i);
    const std::string root = "enc_p.encoder.";
    std::size_t attended = kNone;
    if (!read_attention(hidden, index, attended)) break;
    const std::size_t norm_1 = next(attended, norm, root + "norm_layers_1." + index);
    const std::size_t conv_1 = next(norm_1, conv, root + "ffn_layers." + index + ".conv_1");
    const std::size_t conv_2 = next(conv_1, conv, root + "ffn_layers." + index + ".conv_2");
    const std::size_t norm_2 = next(conv_2, norm, root + "norm_layers_2." + index);
    if (!failed() && !at(conv_2).ops.contains("Relu")) fault("the text encoder's feed-forward layers have no ReLU");
    keep(norm_1, root + "norm_layers_1." + index);
    keep(conv_1, root + "ffn_layers." + index + ".conv_1");
    keep(conv_2, root + "ffn_layers." + index + ".conv_2");
    keep(norm_2, root + "norm_layers_2." + index);
    config.ffn_channels = at(conv_1).out_channels();
    config.ffn_kernel = at(conv_1).kernel();
    config.layers = static_cast<std::int64_t>(i) + 1;
    hidden = norm_2;
  }
  if (failed()) return;
  if (config.layers == 0)
    return fault("there is no self-attention behind the phoneme embedding; this is no VITS graph");
  const voice::TensorView* relative = out_.tensors.find("enc_p.encoder.attn_layers.0.emb_rel_k");
  config.window = (relative->shape[1] - 1) / 2;
  config.heads = relative->shape[2] > 0 ? config.hidden / relative->shape[2] : 0;
  read_projection(hidden);
}

/// Behind the text encoder stand the projection to the prior and the duration predictor's first convolution.
void Walk::read_projection(std::size_t hidden) {
  duration_pre_ = next(
      hidden,
      [&](const Layer& layer) {
        return pointwise(layer) && std::any_of(layer.downs.begin(), layer.downs.end(),
                                               [&](std::size_t down) { return at(down).depthwise(); });
      },
      "dp.pre (is this a deterministic duration predictor?)");
  projection_ = next(
      hidden,
      [&](const Layer& layer) {
        return pointwise(layer) && &layer != &at(duration_pre_) && layer.out_channels() % 2 == 0;
      },
      "enc_p.proj");
  keep(duration_pre_, "dp.pre");
  keep(projection_, "enc_p.proj");
  out_.config.latent = at(projection_).out_channels() / 2;
}

/// Dilated depth-separable convolutions; the last norm of them, or `from` if there are none.
std::size_t Walk::read_dds(std::size_t from, const std::string& name) {
  std::size_t last = from;
  for (std::size_t i = 0; i < kMaxRepeats && !failed(); ++i) {
    const std::string index = dotted(i);
    const std::size_t separate = find(last, depthwise);
    if (separate == kNone) break;
    const std::size_t norm_1 = next(separate, norm, name + ".norms_1" + index);
    const std::size_t mix = next(norm_1, pointwise, name + ".convs_1x1" + index);
    const std::size_t norm_2 = next(mix, norm, name + ".norms_2" + index);
    keep(separate, name + ".convs_sep" + index);
    keep(norm_1, name + ".norms_1" + index);
    keep(mix, name + ".convs_1x1" + index);
    keep(norm_2, name + ".norms_2" + index);
    out_.config.duration_kernel = at(separate).kernel();
    out_.config.dds_layers = static_cast<std::int64_t>(i) + 1;
    last = norm_2;
  }
  return last;
}

void Walk::read_durations() {
  VitsConfig& config = out_.config;
  config.duration_channels = at(duration_pre_).out_channels();
  if (speakers_ != kNone && !failed()) read_condition(find(duration_pre_, depthwise), "dp.cond");
  const std::size_t proj = next(read_dds(duration_pre_, "dp.convs"), pointwise, "dp.proj");
  keep(proj, "dp.proj");
  std::vector<std::size_t> pres;
  std::size_t pre = kNone;
  for (const std::size_t up : at(find(proj, depthwise)).ups) {
    if (up != proj) pre = up;
  }
  if (pre == kNone) fault("no layer in the graph has the place of the first flow of dp");
  const std::int64_t half = at(pre).in_channels();
  std::vector<std::pair<std::size_t, std::size_t>> flows;
  // Names count from the end of inference: the flow that runs first has the highest number, and flow 1 never runs.
  std::size_t count = 0;
  for (std::size_t p = pre; p != kNone && count < kMaxRepeats && !failed(); ++count) {
    const std::string name = "dp.flow#" + std::to_string(count);
    used_[p] = true;
    const std::size_t last = read_dds(p, name + ".convs");
    keep(p, name + ".pre");
    const std::size_t flow_proj = next(last, pointwise, name + ".proj");
    keep(flow_proj, name + ".proj");
    config.spline_bins = half > 0 ? (at(flow_proj).out_channels() / half + 1) / 3 : 0;
    p = find(flow_proj, [&](const Layer& layer) { return pointwise(layer) && layer.in_channels() == half; });
  }
  config.duration_flows = static_cast<std::int64_t>(count);
  auto& tensors = out_.tensors.tensors;
  for (std::size_t i = 0; i < count && !failed(); ++i) {
    const std::string old = "dp.flow#" + std::to_string(i) + ".";
    const std::string name = "dp.flows." + std::to_string(2 * (count - i) + 1) + ".";
    for (auto found = tensors.lower_bound(old); found != tensors.end() && found->first.starts_with(old);) {
      auto entry = tensors.extract(found++);
      entry.key() = name + entry.key().substr(old.size());
      tensors.insert(std::move(entry));
    }
  }
}

/// The affine flow before exp() and ceil(): (z - m) * exp(-logs), with exp or the sign folded by some exporters.
void Walk::read_affine() {
  if (failed()) return;
  const OnnxNode* ceil = nullptr;
  for (const OnnxNode& node : graph_.graph().nodes) {
    if (node.op != "Ceil") continue;
    if (ceil != nullptr) return fault("the graph rounds durations in two places");
    ceil = &node;
  }
  if (ceil == nullptr || ceil->inputs.empty()) return fault("the graph rounds no durations (Ceil)");
  for (const OnnxNode* node : graph_.upstream(ceil->inputs[0]).nodes) {
    if (node->op != "Sub" || node->inputs.size() != 2 || node->outputs.empty()) continue;
    const voice::TensorView* m = graph_.constant(node->inputs[1]);
    if (m == nullptr || m->shape.size() != 2 || m->shape[1] != 1) continue;
    for (const OnnxNode* scale : graph_.consumers(node->outputs[0])) {
      if (scale->op != "Mul" || scale->inputs.size() != 2) continue;
      std::string_view value = scale->inputs[scale->inputs[0] == node->outputs[0] ? 1 : 0];
      const char* name = "dp.flows.0.exp_neg_logs";
      const OnnxNode* made = graph_.producer(value);
      if (made != nullptr && made->op == "Exp" && !made->inputs.empty()) {
        value = made->inputs[0];
        name = "dp.flows.0.neg_logs";
        made = graph_.producer(value);
        if (made != nullptr && made->op == "Neg" && !made->inputs.empty()) {
          value = made->inputs[0];
          name = "dp.flows.0.logs";
        }
      }
      if (graph_.constant(value) == nullptr) continue;
      keep_tensor(m, "dp.flows.0.m");
      return keep_tensor(graph_.constant(value), name);
    }
  }
  fault("no tensors in the graph have the place of dp.flows.0.m and dp.flows.0.logs");
}

void Walk::read_condition(std::size_t at_layer, const std::string& name) {
  if (speakers_ == kNone || failed()) return;
  for (const std::size_t up : at(at_layer).ups) {
    const Layer& layer = at(up);
    if (pointwise(layer) && layer.ups.size() == 1 && layer.ups[0] == speakers_) return keep(up, name);
  }
  fault("a voice of several speakers without " + name);
}

/// One mean-only residual coupling; its last convolution, "post".
std::size_t Walk::read_coupling(std::size_t pre, const std::string& name) {
  VitsConfig& config = out_.config;
  const std::int64_t width = at(pre).out_channels();
  keep(pre, name + ".pre");
  std::size_t last = pre;
  for (std::size_t i = 0; i < kMaxRepeats && !failed(); ++i) {
    const std::string index = dotted(i);
    const std::size_t in = next(
        last,
        [&](const Layer& layer) {
          return conv(layer) && layer.in_channels() == width && layer.out_channels() == 2 * width;
        },
        name + ".enc.in_layers" + index);
    const std::size_t skip = next(
        in, [&](const Layer& layer) { return pointwise(layer) && layer.in_channels() == width; },
        name + ".enc.res_skip_layers" + index);
    if (i == 0) read_condition(skip, name + ".enc.cond_layer");
    if (i == 1) config.wavenet_dilation_rate = at(in).dilation;
    config.wavenet_kernel = at(in).kernel();
    config.wavenet_layers = static_cast<std::int64_t>(i) + 1;
    keep(in, name + ".enc.in_layers" + index);
    keep(skip, name + ".enc.res_skip_layers" + index);
    last = skip;
    if (at(skip).out_channels() == width) break;
  }
  const std::size_t post = next(
      last, [&](const Layer& layer) { return pointwise(layer) && layer.in_channels() == width; }, name + ".post");
  keep(post, name + ".post");
  return post;
}

void Walk::read_flow() {
  VitsConfig& config = out_.config;
  auto is_pre = [&](const Layer& layer) { return pointwise(layer) && 2 * layer.in_channels() == config.latent; };
  std::size_t pre = next(projection_, is_pre, "the flow's first coupling");
  std::vector<std::size_t> order;
  std::size_t count = 0;
  for (std::size_t at_layer = pre; at_layer != kNone && count < kMaxRepeats && !failed(); ++count) {
    latents_ = read_coupling(at_layer, "flow#" + std::to_string(count));
    at_layer = find(latents_, is_pre);
  }
  config.couplings = static_cast<std::int64_t>(count);
  auto& tensors = out_.tensors.tensors;
  for (std::size_t i = 0; i < count && !failed(); ++i) {
    const std::string old = "flow#" + std::to_string(i) + ".";
    const std::string name = "flow.flows." + std::to_string(2 * (count - 1 - i)) + ".";
    for (auto found = tensors.lower_bound(old); found != tensors.end() && found->first.starts_with(old);) {
      auto entry = tensors.extract(found++);
      entry.key() = name + entry.key().substr(old.size());
      tensors.insert(std::move(entry));
    }
  }
}

void Walk::check_upsampler(const Layer& up) {
  if (failed()) return;
  if (up.dilation != 1 || up.groups != 1 || up.padding * 2 != up.size(2) - up.stride) {
    fault("an upsampling convolution of the decoder is padded as in no VITS");
  }
}

/// The leaky ReLU right before a layer must have this slope.
void Walk::check_slope(const Layer& layer, double slope) {
  if (failed()) return;
  const OnnxNode* node = graph_.producer(layer.data);
  const OnnxAttribute* alpha = node == nullptr || node->op != "LeakyRelu" ? nullptr : node->find("alpha");
  const double found = alpha == nullptr ? 0.01 : static_cast<double>(alpha->real);
  if (node == nullptr || node->op != "LeakyRelu" || std::abs(found - slope) > 1e-6) {
    fault("the decoder has no leaky ReLU of slope " + std::to_string(slope) + " where VITS has one");
  }
}

/// One residual block of stage `up` that begins with convolution `start`; its last convolution.
std::size_t Walk::read_resblock(std::size_t up, std::size_t start, const std::string& name, std::size_t index) {
  VitsConfig& config = out_.config;
  const std::int64_t width = at(start).out_channels();
  const std::int64_t kernel = at(start).kernel();
  auto same = [&](const Layer& layer) {
    return conv(layer) && layer.in_channels() == width && layer.out_channels() == width && layer.kernel() == kernel;
  };
  auto paired = [&](std::size_t layer) {
    return find(layer, [&](const Layer& down) {
      return same(down) && down.ups.size() == 1 && down.ups[0] == layer && layer != up;
    });
  };
  const bool two = paired(start) != kNone;
  std::vector<std::int64_t> dilations;
  std::size_t last = start;
  for (std::size_t first = start; first != kNone && dilations.size() < kMaxRepeats && !failed();) {
    const std::string part = dotted(dilations.size());
    const std::size_t second = two ? paired(first) : kNone;
    if (two && second == kNone) fault("a residual block of the decoder has no second convolution in " + name);
    keep(first, name + (two ? ".convs1" : ".convs") + part);
    keep(second, name + ".convs2" + part);
    dilations.push_back(at(first).dilation);
    last = two ? second : first;
    first = find(last, same);
  }
  config.resblock_type = two ? 1 : 2;
  if (index == config.resblock_kernels.size()) {
    config.resblock_kernels.push_back(kernel);
    config.resblock_dilations.push_back(dilations);
  } else if (index > config.resblock_kernels.size() || config.resblock_kernels[index] != kernel ||
             config.resblock_dilations[index] != dilations) {
    fault("the decoder's stages have different residual blocks");
  }
  return last;
}

void Walk::read_decoder() {
  VitsConfig& config = out_.config;
  const std::size_t pre = next(
      latents_,
      [&](const Layer& layer) { return conv(layer) && layer.in_channels() == config.latent && layer.kernel() > 1; },
      "dec.conv_pre");
  auto transposed = [](const Layer& layer) { return layer.kind == LayerKind::kConvTranspose; };
  keep(pre, "dec.conv_pre");
  config.decoder_channels = at(pre).out_channels();
  read_condition(find(pre, transposed), "dec.cond");
  std::size_t last = pre;
  std::size_t blocks = 0;
  for (std::size_t stage = 0; stage < kMaxRepeats && !failed(); ++stage) {
    const std::size_t up = find(last, transposed);
    if (up == kNone) break;
    check_upsampler(at(up));
    check_slope(at(up), config.leaky_slope);
    keep(up, "dec.ups." + std::to_string(stage));
    config.upsample_rates.push_back(at(up).stride);
    config.upsample_kernels.push_back(at(up).size(2));
    std::vector<std::size_t> starts;
    for (const std::size_t down : at(up).downs) {
      if (conv(at(down)) && at(down).ups.size() == 1 && at(down).out_channels() == at(up).size(1)) {
        starts.push_back(down);
      }
    }
    std::stable_sort(starts.begin(), starts.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(at(a).kernel(), at(a).dilation) < std::pair(at(b).kernel(), at(b).dilation);
    });
    if (starts.empty()) fault("an upsampling stage of the decoder has no residual blocks");
    for (std::size_t i = 0; i < starts.size() && !failed(); ++i) {
      last = read_resblock(up, starts[i], "dec.resblocks." + std::to_string(blocks++), i);
    }
    if (starts.size() != config.resblock_kernels.size()) fault("the decoder's stages have different residual blocks");
  }
  const std::size_t post = next(
      last, [](const Layer& layer) { return conv(layer) && layer.out_channels() == 1; },
      "dec.conv_post (MB-iSTFT and other decoders are not supported)");
  check_slope(at(post), 0.01);
  keep(post, "dec.conv_post");
  check_output(post);
}

/// Between the last convolution and the samples there is a tanh and nothing else that computes.
void Walk::check_output(std::size_t conv_post) {
  if (failed()) return;
  if (graph_.graph().outputs.empty()) return fault("the graph has no output");
  const auto found = graph_.upstream(graph_.graph().outputs[0]);
  bool tanh = false;
  for (const OnnxNode* node : found.nodes) {
    static const std::set<std::string_view> kHarmless{"Unsqueeze", "Squeeze", "Reshape", "Identity",
                                                      "Cast",      "Clip",    "Flatten"};
    tanh = tanh || node->op == "Tanh";
    if (node->op != "Tanh" && !kHarmless.contains(node->op)) {
      return fault("the samples go through a " + std::string(node->op) + " node, as in no HiFi-GAN decoder");
    }
  }
  if (!tanh || found.layers.size() != 1 || *found.layers.begin() != conv_post) {
    fault("the graph's first output is not the decoder's");
  }
}

void Walk::check_all_used() {
  for (std::size_t i = 0; i < used_.size() && !failed(); ++i) {
    if (used_[i]) continue;
    const OnnxNode& node = graph_.graph().nodes[at(i).node];
    const auto& ups = at(i).ups;
    const bool speaker = speakers_ != kNone && std::find(ups.begin(), ups.end(), speakers_) != ups.end();
    fault("the layer that gives \"" + std::string(node.outputs.empty() ? "" : node.outputs[0]) +
          (speaker ? "\" conditions a part on the speaker that plain VITS does not (the text encoder?)"
                   : "\" has no place in VITS"));
  }
}

Result<PiperGraph> Walk::run() {
  check_inputs();
  if (!failed()) find_embeddings();
  if (!failed()) read_encoder();
  if (!failed()) read_durations();
  read_affine();
  if (!failed()) read_flow();
  if (!failed()) read_decoder();
  check_all_used();
  if (failed()) return Error{Status::kUnsupported, where_ + ": no plain Piper voice: " + fault_};
  return std::move(out_);
}

}  // namespace

Result<PiperGraph> read_piper_graph(const OnnxGraph& graph, std::string_view where) {
  auto layers = LayerGraph::build(graph, where);
  if (!layers) return layers.error();
  auto result = Walk(*layers, where).run();
  if (!result) return result.error();
  for (const OnnxTensor& tensor : graph.initializers) {
    if (tensor.owned) result->tensors.owners.push_back(tensor.owned);
  }
  return result;
}

}  // namespace timbre::vits
