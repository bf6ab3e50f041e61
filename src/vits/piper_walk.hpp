// SPDX-License-Identifier: MIT
//
// PiperWalk: goes over a LayerGraph from the phoneme table to the samples and keeps every layer's tensors under its
// canonical name. Implemented in one file for each part of the model.
//
// Invariants
//   * The first thing that does not fit is kept as the fault; every later step then finds nothing, so that the walk
//   needs
//     no check after each step.
//   * A layer is used once; at the end none is left over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vits/layer_graph.hpp"
#include "vits/piper_graph.hpp"

namespace timbre::vits {

inline constexpr std::size_t kNoLayer = SIZE_MAX;
inline constexpr std::size_t kMaxRepeats = 64;  ///< layers, flows, stages: more than any VITS has of each

class PiperWalk {
 public:
  PiperWalk(const LayerGraph& graph, std::string_view where) : graph_(graph), where_(where) {
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
    return index == kNoLayer ? kNothing : graph_.layers()[index];
  }
  void fault(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }
  [[nodiscard]] bool failed() const { return !fault_.empty(); }

  /// The nearest layer below `from` that passes; kNoLayer if there is none.
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
  std::size_t phonemes_ = kNoLayer;
  std::size_t speakers_ = kNoLayer;
  std::size_t projection_ = kNoLayer;
  std::size_t duration_pre_ = kNoLayer;
  std::size_t latents_ = kNoLayer;
  PiperGraph out_;
};

/// ".3"
inline std::string dotted(std::size_t index) {
  std::string text = std::to_string(index);
  text.insert(text.begin(), '.');
  return text;
}

inline bool is_pointwise(const Layer& layer) { return layer.is_conv() && layer.kernel() == 1 && layer.groups == 1; }
inline bool is_norm(const Layer& layer) { return layer.kind == LayerKind::kNorm; }
inline bool is_conv(const Layer& layer) { return layer.is_conv() && layer.groups == 1; }
inline bool is_depthwise(const Layer& layer) { return layer.depthwise(); }

}  // namespace timbre::vits
