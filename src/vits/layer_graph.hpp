// SPDX-License-Identifier: MIT
//
// LayerGraph: an ONNX graph seen as its layers with weights (embeddings, convolutions, layer norms) and the data that
// flows between them. The piper_graph reads a voice from it, by topology alone: names and the order of nodes say
// nothing.
//
// Invariants
//   * ups of a layer are the layers that its data input is computed from without a layer between; masks, shapes, random
//     numbers, comparisons and rounding carry no data and end the search.
//   * depth is the longest path from any source; the graph has no cycle.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vits/onnx_graph.hpp"

namespace timbre::vits {

enum class LayerKind : std::uint8_t { kEmbedding, kConv, kConvTranspose, kNorm };

struct Layer {
  LayerKind kind = LayerKind::kConv;
  std::size_t node = 0;                       ///< the node that gives the layer's output
  const voice::TensorView* weight = nullptr;  ///< table, kernel or gamma
  const voice::TensorView* bias = nullptr;    ///< bias or beta, null if there is none
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  std::int64_t padding = 0;  ///< on the left
  std::string_view data;     ///< the value that the layer reads; "" for an embedding
  std::vector<std::size_t> ups;
  std::vector<std::size_t> downs;
  std::set<std::string_view> ops;  ///< operators between the ups and this layer
  std::size_t depth = 0;

  [[nodiscard]] std::int64_t size(std::size_t axis) const {
    return axis < weight->shape.size() ? weight->shape[axis] : 1;
  }
  [[nodiscard]] bool is_conv() const { return kind == LayerKind::kConv; }
  /// Of a convolution: [out, in / groups, kernel].
  [[nodiscard]] std::int64_t out_channels() const { return size(0); }
  [[nodiscard]] std::int64_t in_channels() const { return size(1) * groups; }
  [[nodiscard]] std::int64_t kernel() const { return size(2); }
  [[nodiscard]] bool depthwise() const { return is_conv() && groups > 1 && groups == out_channels(); }
};

class LayerGraph {
 public:
  /// @return kUnsupported for operators of quantised or spectral models, kFormat for a graph that is none.
  [[nodiscard]] static Result<LayerGraph> build(const OnnxGraph& graph, std::string_view where);

  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const OnnxGraph& graph() const { return *graph_; }

  /// The tensor that a value is, through Constant, Identity and Cast; null for computed values.
  [[nodiscard]] const voice::TensorView* constant(std::string_view value) const;
  /// The node that computes a value, or null.
  [[nodiscard]] const OnnxNode* producer(std::string_view value) const;
  /// Nodes that read a value.
  [[nodiscard]] std::vector<const OnnxNode*> consumers(std::string_view value) const;

  /// What lies upstream of a value, up to the next layers.
  struct Upstream {
    std::set<std::size_t> layers;
    std::set<const OnnxNode*> nodes;
  };
  /// @param stop_at  an operator that also ends the search (its nodes are listed), "" for none.
  [[nodiscard]] Upstream upstream(std::string_view value, std::string_view stop_at = {}) const;
  /// MatMul nodes that a layer's output reaches without another MatMul or layer between.
  [[nodiscard]] std::set<const OnnxNode*> matmuls_of(const Layer& layer) const;

 private:
  Result<void> index_values(std::string_view where);
  Result<void> find_layers(std::string_view where);
  Result<void> add_conv(std::size_t node, std::string_view where);
  bool add_norm(std::size_t node);
  Result<void> connect(std::string_view where);

  const OnnxGraph* graph_ = nullptr;
  std::unordered_map<std::string_view, const OnnxTensor*> initializers_;
  std::unordered_map<std::string_view, std::size_t> producers_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> consumers_;
  std::unordered_map<std::size_t, std::size_t> layer_of_node_;
  std::vector<Layer> layers_;
};

}  // namespace timbre::vits
