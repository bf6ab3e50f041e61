// SPDX-License-Identifier: MIT
//
// The header is parsed by nlohmann-json with a callback that refuses duplicate keys and deep nesting; data stays where
// it is.
#include "voice/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "files/disguise.hpp"

namespace timbre::voice {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxRank = 16;

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DTypeRow, 10> kDTypes{{{DType::kF64, "F64", 8},
                                            {DType::kF32, "F32", 4},
                                            {DType::kF16, "F16", 2},
                                            {DType::kBF16, "BF16", 2},
                                            {DType::kI64, "I64", 8},
                                            {DType::kI32, "I32", 4},
                                            {DType::kI16, "I16", 2},
                                            {DType::kI8, "I8", 1},
                                            {DType::kU8, "U8", 1},
                                            {DType::kBool, "BOOL", 1}}};

const DTypeRow& row_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

Error format_error(std::string_view where, std::string text) {
  return Error{Status::kFormat, std::string(where) + ": " + std::move(text)};
}

/// Parses without exceptions and without recursion of ours; duplicate keys and depth beyond a header's are refused.
Result<nlohmann::json> parse_header(std::string_view text, std::string_view where) {
  std::vector<std::set<std::string>> keys;
  std::string fault;
  auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (depth > 3 && fault.empty()) fault = "its header is nested deeper than a safetensors header";
    if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !keys.empty()) {
      auto name = value.get<std::string>();
      if (!keys.back().insert(name).second && fault.empty())
        fault = "the key \"" + name + "\" stands twice in its header";
    }
    return depth <= 3;
  };
  nlohmann::json header = nlohmann::json::parse(text, watch, false);
  if (!fault.empty()) return format_error(where, fault);
  if (header.is_discarded() || !header.is_object()) return format_error(where, "its header is not a JSON object");
  return header;
}

Result<std::uint64_t> offset_of(const nlohmann::json& offsets, std::size_t index, const std::string& name,
                                std::string_view where) {
  const nlohmann::json& value = offsets[index];
  if (!value.is_number_unsigned()) return format_error(where, "tensor \"" + name + "\": data_offsets are not counts");
  return value.get<std::uint64_t>();
}

Result<TensorView> read_entry(const std::string& name, const nlohmann::json& entry, std::span<const std::byte> data,
                              std::string_view where) {
  auto fail = [&](const std::string& text) { return format_error(where, "tensor \"" + name + "\": " + text); };
  if (!entry.is_object()) return fail("its entry is not an object");
  for (const auto& item : entry.items()) {
    if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets") {
      return fail("unknown key \"" + item.key() + "\"");
    }
  }
  if (!entry.contains("dtype") || !entry["dtype"].is_string()) return fail("no dtype");
  if (!entry.contains("shape") || !entry["shape"].is_array()) return fail("no shape");
  if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2) {
    return fail("no data_offsets of two numbers");
  }
  const auto dtype_text = entry["dtype"].get<std::string>();
  const auto dtype = dtype_from_name(dtype_text);
  if (!dtype) return fail("unknown dtype " + dtype_text);
  TensorView view{*dtype, {}, {}};
  if (entry["shape"].size() > kMaxRank) return fail("more than 16 dimensions");
  for (const nlohmann::json& size : entry["shape"]) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > (1ULL << 62)) return fail("a size is not a count");
    view.shape.push_back(static_cast<std::int64_t>(size.get<std::uint64_t>()));
  }
  auto begin = offset_of(entry["data_offsets"], 0, name, where);
  auto end = offset_of(entry["data_offsets"], 1, name, where);
  if (!begin) return begin.error();
  if (!end) return end.error();
  if (*begin > *end || *end > data.size()) {
    return fail("data_offsets [" + std::to_string(*begin) + ", " + std::to_string(*end) + "] lie outside the " +
                std::to_string(data.size()) + " bytes of data");
  }
  const auto count = element_count(view.shape);
  if (!count || *count > data.size() || *count * dtype_bytes(*dtype) != *end - *begin) {
    return fail("shape " + shape_text(view.shape) + " of " + dtype_text + " does not fit its " +
                std::to_string(*end - *begin) + " bytes");
  }
  view.bytes = data.subspan(*begin, *end - *begin);
  return view;
}

/// Tensors must cover the data exactly: no hole, no overlap.
Result<void> check_cover(const Safetensors& file, std::span<const std::byte> data, std::string_view where) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, view] : file.tensors) {
    if (view.bytes.empty()) continue;
    const auto begin = static_cast<std::uint64_t>(view.bytes.data() - data.data());
    ranges.emplace_back(begin, begin + view.bytes.size());
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t at = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != at) {
      return format_error(where, std::string(begin < at ? "tensors overlap" : "no tensor covers the data") +
                                     " at data byte " + std::to_string(std::min(begin, at)));
    }
    at = end;
  }
  if (at != data.size()) {
    return format_error(where, std::to_string(data.size() - at) + " bytes of data belong to no tensor");
  }
  return {};
}

float from_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 31 ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

}  // namespace

std::size_t dtype_bytes(DType dtype) { return row_of(dtype).bytes; }
std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape) {
  constexpr std::uint64_t kLimit = 1ULL << 62U;
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size != 0 && count > kLimit / static_cast<std::uint64_t>(size)) return std::nullopt;
    count *= static_cast<std::uint64_t>(size);
  }
  return count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::vector<float> to_floats(const TensorView& tensor) {
  const std::size_t width = dtype_bytes(tensor.dtype);
  const std::byte* from = tensor.bytes.data();
  std::vector<float> out(tensor.bytes.size() / width);
  switch (tensor.dtype) {
    case DType::kF32:
      if (!out.empty()) std::memcpy(out.data(), from, out.size() * width);
      return out;
    case DType::kF64:
      for (float& value : out) {
        double wide = 0;
        std::memcpy(&wide, std::exchange(from, from + width), width);
        value = static_cast<float>(wide);
      }
      return out;
    case DType::kF16:
    case DType::kBF16:
      for (float& value : out) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, std::exchange(from, from + width), width);
        value = tensor.dtype == DType::kF16 ? from_half(bits)
                                            : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
      }
      return out;
    default:
      return {};
  }
}

Result<Safetensors> read_safetensors(std::span<const std::byte> bytes, std::string_view where) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return format_error(where, "too short for a safetensors file");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - sizeof header_bytes) {
    const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (auto other = files::binary_disguise(start, "a safetensors file"); !other.empty())
      return format_error(where, std::move(other));
    return format_error(where, "its header of " + std::to_string(header_bytes) + " bytes does not fit the file of " +
                                   std::to_string(bytes.size()) + " bytes");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header_bytes, header_bytes);
  auto header = parse_header(text, where);
  if (!header) return header.error();
  const auto data = bytes.subspan(sizeof header_bytes + header_bytes);
  Safetensors file;
  for (const auto& item : header->items()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_object()) return format_error(where, "__metadata__ is not an object");
      for (const auto& entry : item.value().items()) {
        if (!entry.value().is_string()) return format_error(where, "__metadata__ holds a value that is no string");
        file.metadata.emplace(entry.key(), entry.value().get<std::string>());
      }
      continue;
    }
    auto view = read_entry(item.key(), item.value(), data, where);
    if (!view) return view.error();
    file.tensors.emplace(item.key(), std::move(*view));
  }
  if (auto covered = check_cover(file, data, where); !covered) return covered.error();
  return file;
}

Result<std::vector<std::byte>> write_safetensors(const Safetensors& content) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) {
    for (const auto& [key, value] : content.metadata) header["__metadata__"][key] = value;
  }
  std::uint64_t offset = 0;
  for (const auto& [name, view] : content.tensors) {
    const auto count = element_count(view.shape);
    if (name == "__metadata__" || !count || *count * dtype_bytes(view.dtype) != view.bytes.size()) {
      return Error{Status::kInvalidArgument, "tensor \"" + name + "\": " + std::to_string(view.bytes.size()) +
                                                 " bytes do not fit the shape " + shape_text(view.shape)};
    }
    header[name] = {{"dtype", dtype_name(view.dtype)},
                    {"shape", view.shape},
                    {"data_offsets", {offset, offset + view.bytes.size()}}};
    offset += view.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t header_bytes = text.size();
  std::vector<std::byte> out(sizeof header_bytes + text.size() + offset);
  std::memcpy(out.data(), &header_bytes, sizeof header_bytes);
  std::memcpy(out.data() + sizeof header_bytes, text.data(), text.size());
  std::size_t at = sizeof header_bytes + text.size();
  for (const auto& [name, view] : content.tensors) {
    if (!view.bytes.empty()) std::memcpy(out.data() + at, view.bytes.data(), view.bytes.size());
    at += view.bytes.size();
  }
  return out;
}

}  // namespace timbre::voice
