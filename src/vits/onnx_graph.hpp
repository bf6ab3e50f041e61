// SPDX-License-Identifier: MIT
//
// OnnxGraph: an .onnx file as plain structs, as far as a Piper voice needs it. Field numbers are those of onnx.proto
// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
//
// Invariants
//   * Names and tensor data are views into the file's bytes, which must outlive the graph; only tensors that the file
//     stores element by element are copied.
//   * Counts are capped, so that a hostile file costs a small multiple of its own size; subgraphs are never entered.
//   * A tensor's view has exactly the bytes that its shape and dtype say. Tensors of dtypes that VITS does not use have
//     `supported` false and no view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"
#include "voice/safetensors.hpp"

namespace timbre::vits {

/// Where a tensor's bytes lie when they are not in the .onnx itself.
struct OnnxExternal {
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool has_length = false;
};

struct OnnxTensor {
  std::string_view name;
  bool supported = false;
  voice::TensorView view;
  std::shared_ptr<const std::vector<std::byte>> owned;  ///< behind `view` when it was copied
  std::shared_ptr<const OnnxExternal> external;         ///< not null: `view` waits for attach_external()
};

struct OnnxAttribute {
  std::string_view name;
  std::int64_t integer = 0;
  float real = 0;
  std::vector<std::int64_t> integers;
  std::shared_ptr<const OnnxTensor> tensor;
};

struct OnnxNode {
  std::string_view op;
  std::string_view domain;
  std::vector<std::string_view> inputs;  ///< "" for one left out
  std::vector<std::string_view> outputs;
  std::vector<OnnxAttribute> attributes;

  [[nodiscard]] const OnnxAttribute* find(std::string_view attribute) const {
    for (const OnnxAttribute& each : attributes) {
      if (each.name == attribute) return &each;
    }
    return nullptr;
  }
};

struct OnnxInput {
  std::string_view name;
  std::int64_t rank = -1;  ///< -1 when the file does not say
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxInput> inputs;  ///< as listed; old files list initializers too
  std::vector<std::string_view> outputs;
};

/// Reads a whole file.
///
/// @param where  what messages call the file.
/// @return kFormat with the reason: not ONNX, cut, sizes that do not fit, an LFS pointer or HTML page in its place.
[[nodiscard]] Result<OnnxGraph> read_onnx(std::span<const std::byte> bytes, std::string_view where);

/// Answers the bytes of a file that tensors lie in; they must outlive the graph.
using ExternalLookup = std::function<Result<std::span<const std::byte>>(const std::string& location)>;

/// Gives every external tensor its view. Errors are those of `lookup`, or kFormat when a tensor lies outside its file.
[[nodiscard]] Result<void> attach_external(OnnxGraph& graph, const ExternalLookup& lookup, std::string_view where);

}  // namespace timbre::vits
