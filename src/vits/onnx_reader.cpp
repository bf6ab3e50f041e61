// SPDX-License-Identifier: MIT
//
// Reads onnx.proto with protozero, which throws on malformed input; nothing thrown leaves this file.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

// protozero's own assertions become exceptions, in every build: a wrong wire type is a fault of the file.
#define protozero_assert(condition) \
  if (!(condition)) throw std::logic_error("wrong wire type")
#include <protozero/pbf_reader.hpp>

#include "files/disguise.hpp"
#include "vits/onnx_graph.hpp"

namespace timbre::vits {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using voice::DType;

constexpr std::size_t kMaxNodes = 20'000;
constexpr std::size_t kMaxTensors = 20'000;
constexpr std::size_t kMaxEdges = 1'000'000;  // inputs, outputs, attributes and attribute numbers together
constexpr std::size_t kMaxRank = 16;

/// A file that is well-formed protobuf but no usable ONNX.
struct Fault : std::exception {
  explicit Fault(std::string message) : text(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

std::string_view view_of(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// TensorProto.DataType -> DType, for what VITS files hold.
std::optional<DType> dtype_of(std::int64_t onnx_type) {
  switch (onnx_type) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 9:
      return DType::kBool;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 16:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

std::uint64_t parse_count(std::string_view text, std::string_view tensor) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    throw Fault("tensor \"" + std::string(tensor) + "\": external data with a bad offset or length");
  }
  return value;
}

/// Everything a TensorProto may bring before it is known what it means.
struct RawTensor {
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::int64_t type = 0;
  std::string_view raw;
  bool has_raw = false;
  std::vector<std::byte> typed;  // float_data, int64_data, double_data, and int32_data narrowed to the type's width
  std::vector<std::int32_t> int32_data;
  std::vector<std::pair<std::string_view, std::string_view>> external;
  bool is_external = false;

  template <typename T>
  void append(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    typed.insert(typed.end(), from, from + sizeof value);
  }
  template <typename Range>
  void append_all(const Range& range) {
    for (const auto value : range) append(value);
  }
};

void read_dims(pbf_reader& reader, RawTensor& out) {
  if (reader.wire_type() == pbf_wire_type::varint) {
    out.dims.push_back(reader.get_int64());
  } else {
    for (const std::int64_t size : reader.get_packed_int64()) {
      if (out.dims.size() > kMaxRank) break;
      out.dims.push_back(size);
    }
  }
  if (out.dims.size() > kMaxRank) throw Fault("tensor \"" + std::string(out.name) + "\" has more than 16 dimensions");
}

void read_typed(pbf_reader& reader, RawTensor& out) {
  const bool packed = reader.wire_type() == pbf_wire_type::length_delimited;
  switch (reader.tag()) {
    case 4:
      if (packed) {
        out.append_all(reader.get_packed_float());
      } else {
        out.append(reader.get_float());
      }
      return;
    case 5:
      if (packed) {
        for (const std::int32_t value : reader.get_packed_int32()) out.int32_data.push_back(value);
      } else {
        out.int32_data.push_back(reader.get_int32());
      }
      return;
    case 7:
      if (packed) {
        out.append_all(reader.get_packed_int64());
      } else {
        out.append(reader.get_int64());
      }
      return;
    default:
      if (packed) {
        out.append_all(reader.get_packed_double());
      } else {
        out.append(reader.get_double());
      }
  }
}

std::pair<std::string_view, std::string_view> read_entry(pbf_reader reader) {
  std::pair<std::string_view, std::string_view> entry;
  while (reader.next()) {
    if (reader.tag() == 1) {
      entry.first = view_of(reader);
    } else if (reader.tag() == 2) {
      entry.second = view_of(reader);
    } else {
      reader.skip();
    }
  }
  return entry;
}

RawTensor read_raw_tensor(pbf_reader reader) {
  RawTensor out;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        read_dims(reader, out);
        break;
      case 2:
        out.type = reader.get_int32();
        break;
      case 4:
      case 5:
      case 7:
      case 10:
        read_typed(reader, out);
        break;
      case 8:
        out.name = view_of(reader);
        break;
      case 9:
        out.raw = view_of(reader);
        out.has_raw = true;
        break;
      case 13:
        if (out.external.size() > kMaxRank) throw Fault("a tensor has too many entries of external data");
        out.external.push_back(read_entry(reader.get_message()));
        break;
      case 14:
        out.is_external = reader.get_int32() == 1;
        break;
      default:
        reader.skip();
    }
  }
  return out;
}

OnnxExternal read_external(const RawTensor& raw) {
  OnnxExternal external;
  for (const auto& [key, value] : raw.external) {
    if (key == "location") external.location = std::string(value);
    if (key == "offset") external.offset = parse_count(value, raw.name);
    if (key == "length") {
      external.length = parse_count(value, raw.name);
      external.has_length = true;
    }
  }
  return external;
}

/// int32_data holds every type of at most 32 bits; the low bytes are the element.
void narrow_int32(RawTensor& raw, std::size_t width) {
  for (const std::int32_t value : raw.int32_data) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    raw.typed.insert(raw.typed.end(), from, from + std::min(width, sizeof value));
  }
}

OnnxTensor read_tensor(pbf_reader reader) {
  RawTensor raw = read_raw_tensor(std::move(reader));
  OnnxTensor tensor;
  tensor.name = raw.name;
  const auto dtype = dtype_of(raw.type);
  if (!dtype) return tensor;
  tensor.supported = true;
  tensor.view.dtype = *dtype;
  tensor.view.shape = std::move(raw.dims);
  const auto count = voice::element_count(tensor.view.shape);
  if (!count || *count > (1ULL << 40U)) {
    throw Fault("tensor \"" + std::string(raw.name) + "\" has the impossible shape " +
                voice::shape_text(tensor.view.shape));
  }
  if (raw.is_external) {
    tensor.external = std::make_shared<const OnnxExternal>(read_external(raw));
    return tensor;
  }
  if (raw.has_raw) {
    tensor.view.bytes = bytes_of(raw.raw);
  } else {
    narrow_int32(raw, voice::dtype_bytes(*dtype));
    tensor.owned = std::make_shared<const std::vector<std::byte>>(std::move(raw.typed));
    tensor.view.bytes = *tensor.owned;
  }
  if (tensor.view.bytes.size() != *count * voice::dtype_bytes(*dtype)) {
    throw Fault("tensor \"" + std::string(raw.name) + "\": its shape " + voice::shape_text(tensor.view.shape) + " of " +
                std::string(voice::dtype_name(*dtype)) + " does not fit its " +
                std::to_string(tensor.view.bytes.size()) + " bytes");
  }
  return tensor;
}

/// Counts what a file brings, so that tiny messages cannot become large structs without end.
class Budget {
 public:
  void edge() {
    if (++edges_ > kMaxEdges) throw Fault("more edges and attributes than any voice has");
  }
  void node() {
    if (++nodes_ > kMaxNodes) throw Fault("more nodes than any voice has");
  }
  void tensor() {
    if (++tensors_ > kMaxTensors) throw Fault("more tensors than any voice has");
  }

 private:
  std::size_t edges_ = 0;
  std::size_t nodes_ = 0;
  std::size_t tensors_ = 0;
};

OnnxAttribute read_attribute(pbf_reader reader, Budget& budget) {
  OnnxAttribute out;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        out.name = view_of(reader);
        break;
      case 2:
        out.real = reader.get_float();
        break;
      case 3:
        out.integer = reader.get_int64();
        break;
      case 5:
        budget.tensor();
        out.tensor = std::make_shared<const OnnxTensor>(read_tensor(reader.get_message()));
        break;
      case 8:
        if (reader.wire_type() == pbf_wire_type::varint) {
          budget.edge();
          out.integers.push_back(reader.get_int64());
        } else {
          for (const std::int64_t value : reader.get_packed_int64()) {
            budget.edge();
            out.integers.push_back(value);
          }
        }
        break;
      default:
        reader.skip();  // strings, float lists, subgraphs
    }
  }
  return out;
}

OnnxNode read_node(pbf_reader reader, Budget& budget) {
  OnnxNode node;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        budget.edge();
        node.inputs.push_back(view_of(reader));
        break;
      case 2:
        budget.edge();
        node.outputs.push_back(view_of(reader));
        break;
      case 4:
        node.op = view_of(reader);
        break;
      case 5:
        budget.edge();
        node.attributes.push_back(read_attribute(reader.get_message(), budget));
        break;
      case 7:
        node.domain = view_of(reader);
        break;
      default:
        reader.skip();
    }
  }
  return node;
}

/// Rank from TypeProto { tensor_type = 1 { shape = 2 { dim = 1 ... } } }.
std::int64_t read_rank(pbf_reader type) {
  std::int64_t rank = -1;
  while (type.next(1)) {
    pbf_reader tensor = type.get_message();
    while (tensor.next(2)) {
      rank = 0;
      pbf_reader shape = tensor.get_message();
      while (shape.next(1)) {
        shape.skip();
        ++rank;
      }
    }
  }
  return rank;
}

OnnxInput read_input(pbf_reader reader) {
  OnnxInput input;
  while (reader.next()) {
    if (reader.tag() == 1) {
      input.name = view_of(reader);
    } else if (reader.tag() == 2) {
      input.rank = read_rank(reader.get_message());
    } else {
      reader.skip();
    }
  }
  return input;
}

OnnxGraph read_graph(pbf_reader reader) {
  OnnxGraph graph;
  Budget budget;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        budget.node();
        graph.nodes.push_back(read_node(reader.get_message(), budget));
        break;
      case 5:
        budget.tensor();
        graph.initializers.push_back(read_tensor(reader.get_message()));
        break;
      case 11:
        budget.edge();
        graph.inputs.push_back(read_input(reader.get_message()));
        break;
      case 12:
        budget.edge();
        graph.outputs.push_back(read_input(reader.get_message()).name);
        break;
      default:
        reader.skip();
    }
  }
  return graph;
}

}  // namespace

Result<OnnxGraph> read_onnx(std::span<const std::byte> bytes, std::string_view where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto fail = [&](std::string_view reason) {
    return Error{Status::kFormat, std::string(where) + ": " + std::string(reason)};
  };
  if (const auto other = files::binary_disguise(text, "an ONNX file"); !other.empty()) return fail(other);
  try {
    std::optional<OnnxGraph> graph;
    pbf_reader model(text.data(), text.size());
    while (model.next()) {
      if (model.tag() == 7 && model.wire_type() == pbf_wire_type::length_delimited) {
        if (graph) return fail("two graphs in one file");
        graph = read_graph(model.get_message());
      } else {
        model.skip();
      }
    }
    if (!graph || graph->nodes.empty()) return fail("there is no graph in this file; it is not an ONNX model");
    return std::move(*graph);
  } catch (const Fault& fault) {
    return fail(fault.text);
  } catch (const std::bad_alloc&) {
    return Error{Status::kOutOfMemory, std::string(where) + ": no memory to read it"};
  } catch (const std::exception& error) {
    return fail(std::string("damaged or cut ONNX (") + error.what() + ")");
  }
}

Result<void> attach_external(OnnxGraph& graph, const ExternalLookup& lookup, std::string_view where) {
  for (OnnxTensor& tensor : graph.initializers) {
    if (!tensor.external) continue;
    const OnnxExternal& external = *tensor.external;
    auto file = lookup(external.location);
    if (!file) return file.error();
    const std::uint64_t wanted =
        voice::element_count(tensor.view.shape).value_or(0) * voice::dtype_bytes(tensor.view.dtype);
    if ((external.has_length && external.length != wanted) || external.offset > file->size() ||
        wanted > file->size() - external.offset) {
      return Error{Status::kFormat, std::string(where) + ": tensor \"" + std::string(tensor.name) + "\" of " +
                                        std::to_string(wanted) + " bytes at " + std::to_string(external.offset) +
                                        " does not lie in \"" + external.location + "\" of " +
                                        std::to_string(file->size()) + " bytes"};
    }
    tensor.view.bytes = file->subspan(external.offset, wanted);
  }
  return {};
}

}  // namespace timbre::vits
