// SPDX-License-Identifier: MIT
#include "vits/layer_graph.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace timbre::vits {
namespace {

constexpr std::size_t kMaxLayers = 2048;
constexpr int kMaxConstantSteps = 8;

/// Operators of models that are not plain VITS, with what they tell.
struct Foreign {
  std::string_view op;
  std::string_view reason;
};
constexpr std::array<Foreign, 18> kForeign{{
    {"QLinearConv", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"QLinearMatMul", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"ConvInteger", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"MatMulInteger", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"QuantizeLinear", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"DequantizeLinear", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"DynamicQuantizeLinear", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"DynamicQuantizeLSTM", "an int8 model; use the fp32 or fp16 export of this voice"},
    {"STFT", "a model with an inverse-STFT decoder (MB-iSTFT); only HiFi-GAN decoders are supported"},
    {"DFT", "a model with an inverse-STFT decoder (MB-iSTFT); only HiFi-GAN decoders are supported"},
    {"ISTFT", "a model with an inverse-STFT decoder (MB-iSTFT); only HiFi-GAN decoders are supported"},
    {"Cos", "a model with an inverse-STFT decoder (MB-iSTFT); only HiFi-GAN decoders are supported"},
    {"Sin", "a model with an inverse-STFT decoder or sine excitation; only HiFi-GAN decoders are supported"},
    {"LSTM", "no VITS model"},
    {"GRU", "no VITS model"},
    {"BatchNormalization", "no VITS model"},
    {"InstanceNormalization", "no VITS model"},
    {"MaxPool", "no VITS model"},
}};

/// Operators whose output carries no data of their inputs.
bool ends_data(std::string_view op) {
  static const std::set<std::string_view> kEnds{"Shape",
                                                "Size",
                                                "Less",
                                                "LessOrEqual",
                                                "Greater",
                                                "GreaterOrEqual",
                                                "Equal",
                                                "And",
                                                "Or",
                                                "Xor",
                                                "Not",
                                                "NonZero",
                                                "Range",
                                                "RandomNormal",
                                                "RandomUniform",
                                                "Ceil",
                                                "Floor",
                                                "Round",
                                                "IsNaN",
                                                "ArgMax",
                                                "RandomNormalLike",
                                                "ConstantOfShape",
                                                "Constant",
                                                "ArgMin",
                                                "OneHot",
                                                "IsInf",
                                                "TopK",
                                                "RandomUniformLike"};
  return kEnds.contains(op);
}

/// The inputs through which data flows.
std::vector<std::string_view> data_inputs(const OnnxNode& node) {
  static const std::set<std::string_view> kFirst{
      "Reshape",    "Slice",  "Expand",   "Pad",       "Unsqueeze", "Squeeze",   "Gather",    "GatherElements",
      "GatherND",   "CumSum", "Split",    "Clip",      "Tile",      "ReduceSum", "ReduceMax", "Resize",
      "ReduceMean", "Cast",   "Identity", "Transpose", "LeakyRelu", "Relu",      "Softmax"};
  if (ends_data(node.op) || node.inputs.empty()) return {};
  if (kFirst.contains(node.op)) return {node.inputs[0]};
  if (node.op == "Where" && node.inputs.size() == 3) return {node.inputs[1], node.inputs[2]};
  if (node.op.starts_with("Scatter") && node.inputs.size() == 3) return {node.inputs[0], node.inputs[2]};
  return node.inputs;
}

bool is_real(const voice::TensorView& view) {
  using voice::DType;
  return view.dtype == DType::kF32 || view.dtype == DType::kF16 || view.dtype == DType::kBF16 ||
         view.dtype == DType::kF64;
}

std::int64_t first_of(const OnnxNode& node, std::string_view attribute, std::int64_t fallback) {
  const OnnxAttribute* found = node.find(attribute);
  return found == nullptr || found->integers.empty() ? fallback : found->integers[0];
}

}  // namespace

Result<LayerGraph> LayerGraph::build(const OnnxGraph& graph, std::string_view where) {
  for (const OnnxNode& node : graph.nodes) {
    for (const Foreign& foreign : kForeign) {
      if (node.op == foreign.op) {
        return Error{Status::kUnsupported, std::string(where) + ": the graph has a " + std::string(node.op) +
                                               " node: " + std::string(foreign.reason)};
      }
    }
  }
  LayerGraph out;
  out.graph_ = &graph;
  if (auto done = out.index_values(where); !done) return done.error();
  if (auto done = out.find_layers(where); !done) return done.error();
  if (auto done = out.connect(where); !done) return done.error();
  return out;
}

Result<void> LayerGraph::index_values(std::string_view where) {
  for (const OnnxTensor& tensor : graph_->initializers) initializers_.emplace(tensor.name, &tensor);
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    for (const std::string_view output : graph_->nodes[i].outputs) {
      if (output.empty()) continue;
      if (!producers_.emplace(output, i).second) {
        return Error{Status::kFormat,
                     std::string(where) + ": two nodes compute the value \"" + std::string(output) + "\""};
      }
    }
    for (const std::string_view input : graph_->nodes[i].inputs) {
      auto& list = consumers_[input];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
  return {};
}

const voice::TensorView* LayerGraph::constant(std::string_view value) const {
  for (int step = 0; step < kMaxConstantSteps; ++step) {
    if (const auto found = initializers_.find(value); found != initializers_.end()) {
      return found->second->supported ? &found->second->view : nullptr;
    }
    const OnnxNode* node = producer(value);
    if (node == nullptr) return nullptr;
    if (node->op == "Constant") {
      const OnnxAttribute* held = node->find("value");
      return held != nullptr && held->tensor && held->tensor->supported && !held->tensor->external ? &held->tensor->view
                                                                                                   : nullptr;
    }
    if ((node->op != "Identity" && node->op != "Cast") || node->inputs.empty()) return nullptr;
    value = node->inputs[0];
  }
  return nullptr;
}

const OnnxNode* LayerGraph::producer(std::string_view value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? nullptr : &graph_->nodes[found->second];
}

std::vector<const OnnxNode*> LayerGraph::consumers(std::string_view value) const {
  std::vector<const OnnxNode*> out;
  if (const auto found = consumers_.find(value); found != consumers_.end()) {
    for (const std::size_t index : found->second) out.push_back(&graph_->nodes[index]);
  }
  return out;
}

Result<void> LayerGraph::add_conv(std::size_t index, std::string_view where) {
  const OnnxNode& node = graph_->nodes[index];
  auto fail = [&](const std::string& text) {
    return Error{Status::kUnsupported, std::string(where) + ": the " + std::string(node.op) + " that gives \"" +
                                           std::string(node.outputs.empty() ? "" : node.outputs[0]) + "\" " + text};
  };
  if (node.inputs.size() < 2 || node.outputs.empty()) return fail("has too few inputs or no output");
  Layer layer;
  layer.kind = node.op == "Conv" ? LayerKind::kConv : LayerKind::kConvTranspose;
  layer.node = index;
  layer.data = node.inputs[0];
  layer.weight = constant(node.inputs[1]);
  if (layer.weight == nullptr || layer.weight->shape.size() != 3 || !is_real(*layer.weight)) {
    return fail("has no weight of three dimensions; a voice of this form cannot be read");
  }
  for (const std::int64_t size : layer.weight->shape) {
    if (size < 1 || size > (1 << 24)) return fail("has an impossible weight " + voice::shape_text(layer.weight->shape));
  }
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    layer.bias = constant(node.inputs[2]);
    if (layer.bias == nullptr || !is_real(*layer.bias)) return fail("has a bias that is no constant");
  }
  layer.stride = first_of(node, "strides", 1);
  layer.dilation = first_of(node, "dilations", 1);
  layer.padding = first_of(node, "pads", 0);
  if (const OnnxAttribute* group = node.find("group")) layer.groups = group->integer;
  if (layer.stride < 1 || layer.stride > 1024 || layer.dilation < 1 || layer.dilation > 1024 || layer.groups < 1 ||
      layer.groups > 65536 || layer.padding < 0 || layer.padding > 65536) {
    return fail("has impossible attributes");
  }
  layer_of_node_[index] = layers_.size();
  layers_.push_back(layer);
  return {};
}

/// gamma and beta of a layer norm are the constants [channels] of a Mul and of the Add that follows it.
bool LayerGraph::add_norm(std::size_t index) {
  const OnnxNode& node = graph_->nodes[index];
  Layer layer;
  layer.kind = LayerKind::kNorm;
  auto vector_of = [&](std::string_view value) -> const voice::TensorView* {
    const voice::TensorView* found = constant(value);
    return found != nullptr && found->shape.size() == 1 && is_real(*found) ? found : nullptr;
  };
  if (node.op == "LayerNormalization" && node.inputs.size() == 3) {
    layer.node = index;
    layer.data = node.inputs[0];
    layer.weight = vector_of(node.inputs[1]);
    layer.bias = vector_of(node.inputs[2]);
  } else if (node.op == "Mul" && node.inputs.size() == 2 && node.outputs.size() == 1) {
    const bool second = vector_of(node.inputs[1]) != nullptr;
    layer.weight = vector_of(node.inputs[second ? 1 : 0]);
    layer.data = node.inputs[second ? 0 : 1];
    const auto readers = consumers_.find(node.outputs[0]);
    if (layer.weight == nullptr || readers == consumers_.end() || readers->second.size() != 1) return false;
    const OnnxNode& add = graph_->nodes[readers->second[0]];
    if (add.op != "Add" || add.inputs.size() != 2) return false;
    layer.node = readers->second[0];
    layer.bias = vector_of(add.inputs[add.inputs[0] == node.outputs[0] ? 1 : 0]);
  }
  if (layer.weight == nullptr || layer.bias == nullptr || layer.weight->shape != layer.bias->shape) return false;
  if (layer.weight->shape[0] < 2) return false;  // a plain scale and offset
  layer_of_node_[layer.node] = layers_.size();
  layers_.push_back(layer);
  return true;
}

Result<void> LayerGraph::find_layers(std::string_view where) {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const OnnxNode& node = graph_->nodes[i];
    if (node.op == "Conv" || node.op == "ConvTranspose") {
      if (auto added = add_conv(i, where); !added) return added.error();
    } else if (node.op == "Mul" || node.op == "LayerNormalization") {
      add_norm(i);
    } else if (node.op == "Gather" && node.inputs.size() == 2) {
      const voice::TensorView* table = constant(node.inputs[0]);
      if (table == nullptr || table->shape.size() != 2 || !is_real(*table)) continue;
      Layer layer;
      layer.kind = LayerKind::kEmbedding;
      layer.node = i;
      layer.weight = table;
      layer_of_node_[i] = layers_.size();
      layers_.push_back(layer);
    }
    if (layers_.size() > kMaxLayers) {
      return Error{Status::kUnsupported, std::string(where) + ": more layers than any VITS model has"};
    }
  }
  return {};
}

LayerGraph::Upstream LayerGraph::upstream(std::string_view value, std::string_view stop_at) const {
  Upstream out;
  std::vector<std::string_view> open{value};
  while (!open.empty()) {
    const std::string_view at = open.back();
    open.pop_back();
    const auto found = producers_.find(at);
    if (found == producers_.end()) continue;
    if (const auto layer = layer_of_node_.find(found->second); layer != layer_of_node_.end()) {
      out.layers.insert(layer->second);
      continue;
    }
    const OnnxNode& node = graph_->nodes[found->second];
    if (!out.nodes.insert(&node).second || (!stop_at.empty() && node.op == stop_at)) continue;
    for (const std::string_view input : data_inputs(node)) open.push_back(input);
  }
  return out;
}

std::set<const OnnxNode*> LayerGraph::matmuls_of(const Layer& layer) const {
  std::set<const OnnxNode*> found;
  std::set<std::string_view> seen;
  std::vector<std::string_view> open(graph_->nodes[layer.node].outputs);
  while (!open.empty()) {
    const std::string_view at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const auto readers = consumers_.find(at);
    if (readers == consumers_.end()) continue;
    for (const std::size_t index : readers->second) {
      const OnnxNode& node = graph_->nodes[index];
      if (layer_of_node_.contains(index)) continue;
      if (node.op == "MatMul") {
        found.insert(&node);
        continue;
      }
      const auto inputs = data_inputs(node);
      if (std::find(inputs.begin(), inputs.end(), at) == inputs.end()) continue;
      open.insert(open.end(), node.outputs.begin(), node.outputs.end());
    }
  }
  return found;
}

/// Fills ups, downs, ops and depth; refuses cycles.
Result<void> LayerGraph::connect(std::string_view where) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].kind == LayerKind::kEmbedding) continue;
    const Upstream found = upstream(layers_[i].data);
    layers_[i].ups.assign(found.layers.begin(), found.layers.end());
    for (const OnnxNode* node : found.nodes) layers_[i].ops.insert(node->op);
    for (const std::size_t up : layers_[i].ups) layers_[up].downs.push_back(i);
  }
  std::vector<std::size_t> waiting(layers_.size());
  std::deque<std::size_t> ready;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    waiting[i] = layers_[i].ups.size();
    if (waiting[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const Layer& layer = layers_[ready.front()];
    ready.pop_front();
    for (const std::size_t down : layer.downs) {
      layers_[down].depth = std::max(layers_[down].depth, layer.depth + 1);
      if (--waiting[down] == 0) ready.push_back(down);
    }
  }
  if (done != layers_.size()) return Error{Status::kFormat, std::string(where) + ": the graph has a cycle"};
  return {};
}

}  // namespace timbre::vits
