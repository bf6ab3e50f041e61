// SPDX-License-Identifier: MIT
//
// The text encoder of a PiperWalk: attention, relative positions, feed-forward layers, the projection.
#include <algorithm>

#include "vits/piper_walk.hpp"

namespace timbre::vits {

/// Relative embeddings [1, 2 window + 1, head] enter a MatMul through padding and slicing.
void PiperWalk::read_relative(const OnnxNode* matmul, const std::string& name) {
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
bool PiperWalk::read_attention(std::size_t from, const std::string& index, std::size_t& out) {
  const std::int64_t hidden = out_.config.hidden;
  std::vector<std::pair<std::size_t, std::set<const OnnxNode*>>> found;
  for (const std::size_t down : at(from).downs) {
    const Layer& layer = at(down);
    if (used_[down] || !is_pointwise(layer) || layer.in_channels() != hidden || layer.out_channels() != hidden)
      continue;
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
  out = next(found[2].first, is_pointwise, name + ".conv_o");
  const OnnxNode* relative = nullptr;
  for (const OnnxNode* each : graph_.upstream(at(out).data, "MatMul").nodes) {
    if (each->op == "MatMul" && each != *found[2].second.begin()) relative = each;
  }
  read_relative(relative, name + ".emb_rel_v");
  keep(out, name + ".conv_o");
  return true;
}

void PiperWalk::read_encoder() {
  std::size_t hidden = phonemes_;
  VitsConfig& config = out_.config;
  for (std::size_t i = 0; i < kMaxRepeats && !failed(); ++i) {
    const std::string index = std::to_string(i);
    const std::string root = "enc_p.encoder.";
    std::size_t attended = kNoLayer;
    if (!read_attention(hidden, index, attended)) break;
    const std::size_t norm_1 = next(attended, is_norm, root + "norm_layers_1." + index);
    const std::size_t conv_1 = next(norm_1, is_conv, root + "ffn_layers." + index + ".conv_1");
    const std::size_t conv_2 = next(conv_1, is_conv, root + "ffn_layers." + index + ".conv_2");
    const std::size_t norm_2 = next(conv_2, is_norm, root + "norm_layers_2." + index);
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
void PiperWalk::read_projection(std::size_t hidden) {
  duration_pre_ = next(
      hidden,
      [&](const Layer& layer) {
        return is_pointwise(layer) && std::any_of(layer.downs.begin(), layer.downs.end(),
                                                  [&](std::size_t down) { return at(down).depthwise(); });
      },
      "dp.pre (is this a deterministic duration predictor?)");
  projection_ = next(
      hidden,
      [&](const Layer& layer) {
        return is_pointwise(layer) && &layer != &at(duration_pre_) && layer.out_channels() % 2 == 0;
      },
      "enc_p.proj");
  keep(duration_pre_, "dp.pre");
  keep(projection_, "enc_p.proj");
  out_.config.latent = at(projection_).out_channels() / 2;
}

}  // namespace timbre::vits
