// SPDX-License-Identifier: MIT
//
// Reads the layers of a Piper voice out of its graph and gives them their canonical names.
//
// Exporters leave weights anonymous, call the phoneme table "sid", merge equal tensors and number the nodes, so the
// reader goes from layer to layer along the data, from the phoneme table to the samples, and checks on the way that
// every layer has the place and shape that VITS gives it. Sizes come from the shapes and from the convolutions'
// attributes.
#pragma once

#include <string_view>

#include "timbre/core/result.hpp"
#include "vits/onnx_graph.hpp"
#include "vits/tensor_set.hpp"
#include "vits/vits_config.hpp"

namespace timbre::vits {

struct PiperGraph {
  TensorSet tensors;
  VitsConfig config;
};

/// @param where  what messages call the file.
/// @return kUnsupported with the reason for graphs that are no plain VITS (int8, inverse-STFT decoders, extra inputs,
///         other networks, speaker conditioning in the text encoder), kFormat for damaged ones.
[[nodiscard]] Result<PiperGraph> read_piper_graph(const OnnxGraph& graph, std::string_view where);

}  // namespace timbre::vits
