// SPDX-License-Identifier: MIT
//
// Safetensors: a strict reader and a writer of the container that holds weights, patches and voices.
// Format: https://github.com/huggingface/safetensors (header length as uint64, JSON header, raw little-endian data).
//
// Invariants
//   * The reader copies no data: a TensorView refers to the bytes it was given and is valid as long as they are.
//   * Every view lies inside the data, its size equals its shape times its dtype, and the tensors cover the data
//     without hole or overlap.
//   * Hostile input gives an Error that names the file and the tensor; nothing is trusted before it was checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::voice {

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

/// Bytes of one element.
[[nodiscard]] std::size_t dtype_bytes(DType dtype);
/// As the header writes it: "F32".
[[nodiscard]] std::string_view dtype_name(DType dtype);
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name);

/// A tensor in C order that lies in somebody else's bytes, at any alignment.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Elements of a shape, or nothing when a size is negative or the product does not fit 62 bits.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape);
/// "[6, 512]"
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);
/// The elements as float; only for kF64, kF32, kF16 and kBF16, else empty.
[[nodiscard]] std::vector<float> to_floats(const TensorView& tensor);

struct Safetensors {
  std::map<std::string, TensorView, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
};

/// Reads a whole file.
///
/// @param where  what messages call the file.
/// @return kFormat with the reason: shorter than its header says, header over 100 MB, not JSON, unknown dtype, offsets
///         that overlap, leave a hole or end outside, a Git LFS pointer or HTML page in place of the file.
[[nodiscard]] Result<Safetensors> read_safetensors(std::span<const std::byte> bytes, std::string_view where);

/// The file of these tensors, in name order, the header padded with blanks to a multiple of eight bytes.
///
/// @return kInvalidArgument when a tensor's bytes do not fit its shape, or a name is "__metadata__".
[[nodiscard]] Result<std::vector<std::byte>> write_safetensors(const Safetensors& content);

}  // namespace timbre::voice
