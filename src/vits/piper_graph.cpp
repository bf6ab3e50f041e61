// SPDX-License-Identifier: MIT
//
// The order of a PiperWalk and what its parts share.
#include "vits/piper_graph.hpp"

#include <algorithm>

#include "vits/piper_walk.hpp"

namespace timbre::vits {

std::size_t PiperWalk::find(std::size_t from, const Test& test) const {
  std::size_t best = kNoLayer;
  for (const std::size_t down : at(from).downs) {
    if (used_[down] || !test(at(down))) continue;
    if (best == kNoLayer || at(down).depth < at(best).depth) best = down;
  }
  return best;
}

std::size_t PiperWalk::next(std::size_t from, const Test& test, const std::string& name) {
  const std::size_t found = failed() ? kNoLayer : find(from, test);
  if (found == kNoLayer) fault("no layer in the graph has the place of " + name);
  return found;
}

void PiperWalk::keep_tensor(const voice::TensorView* view, const std::string& name) {
  if (view == nullptr) return fault("no tensor in the graph has the place of " + name);
  out_.tensors.tensors.insert_or_assign(name, *view);
}

void PiperWalk::keep(std::size_t index, const std::string& name) {
  if (failed() || index == kNoLayer) return;
  const Layer& layer = at(index);
  used_[index] = true;
  const bool norm = is_norm(layer);
  keep_tensor(layer.weight, name + (norm ? ".gamma" : ".weight"));
  if (layer.bias != nullptr) keep_tensor(layer.bias, name + (norm ? ".beta" : ".bias"));
}

/// Piper's graph takes input, input_lengths, scales and, with several speakers, sid: nothing else.
void PiperWalk::check_inputs() {
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
void PiperWalk::find_embeddings() {
  for (std::size_t i = 0; i < graph_.layers().size(); ++i) {
    if (at(i).kind != LayerKind::kEmbedding) continue;
    const bool phonemes = find(i, is_norm) != kNoLayer;
    std::size_t& slot = phonemes ? phonemes_ : speakers_;
    if (slot != kNoLayer)
      return fault("the graph has more embeddings than phonemes and speakers (languages, prosody?)");
    slot = i;
  }
  if (phonemes_ == kNoLayer)
    return fault("there is no phoneme embedding followed by a text encoder; this is no VITS graph");
  keep(phonemes_, "enc_p.emb");
  out_.config.token_count = at(phonemes_).size(0);
  out_.config.hidden = at(phonemes_).size(1);
  if (speakers_ == kNoLayer) return;
  keep(speakers_, "emb_g");
  out_.config.speakers = at(speakers_).size(0);
  out_.config.voice_dim = at(speakers_).size(1);
}

void PiperWalk::read_condition(std::size_t at_layer, const std::string& name) {
  if (speakers_ == kNoLayer || failed()) return;
  for (const std::size_t up : at(at_layer).ups) {
    const Layer& layer = at(up);
    if (is_pointwise(layer) && layer.ups.size() == 1 && layer.ups[0] == speakers_) return keep(up, name);
  }
  fault("a voice of several speakers without " + name);
}

void PiperWalk::check_all_used() {
  for (std::size_t i = 0; i < used_.size() && !failed(); ++i) {
    if (used_[i]) continue;
    const OnnxNode& node = graph_.graph().nodes[at(i).node];
    const auto& ups = at(i).ups;
    const bool speaker = speakers_ != kNoLayer && std::find(ups.begin(), ups.end(), speakers_) != ups.end();
    fault("the layer that gives \"" + std::string(node.outputs.empty() ? "" : node.outputs[0]) +
          (speaker ? "\" conditions a part on the speaker that plain VITS does not (the text encoder?)"
                   : "\" has no place in VITS"));
  }
}

Result<PiperGraph> PiperWalk::run() {
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

Result<PiperGraph> read_piper_graph(const OnnxGraph& graph, std::string_view where) {
  auto layers = LayerGraph::build(graph, where);
  if (!layers) return layers.error();
  auto result = PiperWalk(*layers, where).run();
  if (!result) return result.error();
  for (const OnnxTensor& tensor : graph.initializers) {
    if (tensor.owned) result->tensors.owners.push_back(tensor.owned);
  }
  return result;
}

}  // namespace timbre::vits
