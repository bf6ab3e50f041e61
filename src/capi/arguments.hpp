// SPDX-License-Identifier: MIT
//
// Reading and writing what crosses the C edge: open structs, strings, sentinels.
//
// Invariant: no byte beyond the struct_size that the caller states is read or written.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "capi/guard.hpp"

namespace timbre::capi {

/// Bytes of each open struct when it first came: no caller ever had a smaller one. Specialised where fields were
/// appended.
template <typename T>
inline constexpr std::uint32_t kFirstSize = sizeof(T);

/// Fills at most struct_size bytes with `defaults`; struct_size itself becomes what was filled.
template <typename T>
Result<void> init_struct(T* out, std::uint32_t struct_size, T defaults) {
  if (out == nullptr) return invalid("the struct is NULL");
  if (struct_size < sizeof(std::uint32_t)) return invalid(fmt::format("struct_size {} is too small", struct_size));
  defaults.struct_size = std::min<std::uint32_t>(struct_size, sizeof(T));
  std::memcpy(out, &defaults, defaults.struct_size);
  return {};
}

/// A caller's struct as this version knows it; fields that the caller's version lacks keep `defaults`.
template <typename T>
Result<T> read_struct(const T* in, const T& defaults, const char* what) {
  std::uint32_t size = 0;
  if (in == nullptr) return invalid(fmt::format("{} is NULL", what));
  std::memcpy(&size, in, sizeof size);
  if (size < kFirstSize<T>)
    return invalid(fmt::format("{}.struct_size is {}, expected at least {}", what, size, kFirstSize<T>));
  T known = defaults;
  std::memcpy(&known, in, std::min<std::size_t>(size, sizeof(T)));
  return known;
}

/// Writes `value` into a caller's out-struct, whose struct_size the caller has set.
template <typename T>
Result<void> write_struct(T* out, T value, const char* what) {
  std::uint32_t size = 0;
  if (out == nullptr) return invalid(fmt::format("{} is NULL", what));
  std::memcpy(&size, out, sizeof size);
  if (size < kFirstSize<T>)
    return invalid(fmt::format("{}.struct_size is {}, expected at least {}", what, size, kFirstSize<T>));
  value.struct_size = size;
  std::memcpy(out, &value, std::min<std::size_t>(size, sizeof(T)));
  return {};
}

/// Writes element `index` of an array whose elements are `element_size` bytes.
template <typename T>
void write_element(T* array, std::uint64_t element_size, std::uint64_t index, T value) {
  value.struct_size = static_cast<std::uint32_t>(element_size);
  auto* at = reinterpret_cast<unsigned char*>(array) + element_size * index;
  std::memcpy(at, &value, std::min<std::size_t>(element_size, sizeof(T)));
}

/// Element `index` of an array whose elements are `element_size` bytes.
template <typename T>
Result<T> read_element(const T* array, std::uint64_t element_size, std::uint64_t index, const T& defaults,
                       const char* what) {
  const auto* at = reinterpret_cast<const unsigned char*>(array) + element_size * index;
  return read_struct(reinterpret_cast<const T*>(at), defaults, what);
}

/// Checks that elements of an array are large enough to be this version's first.
template <typename T>
Result<void> check_element_size(std::uint64_t element_size, const char* what) {
  if (element_size >= kFirstSize<T> && element_size <= 65'536) return {};
  return invalid(fmt::format("{} is {}, expected at least {}", what, element_size, kFirstSize<T>));
}

/// UTF-8 text, "" for NULL. The error names the byte that is wrong.
Result<std::string> read_text(const char* text, const char* what);
/// UTF-8 of a given length.
Result<std::string> read_text(const char* text, std::uint64_t size, const char* what);

/// A voice id: UTF-8 of 1..512 bytes.
Result<std::string> read_voice_id(const char* id);

/// As read_voice_id, but the id's bytes are not looked at: for a look-up, which only finds what was put.
Result<std::string_view> view_voice_id(const char* id);

/// A wait of `timeout_ms` from now; -1: no end. kInvalidArgument below that.
Result<std::chrono::steady_clock::time_point> read_deadline(std::int32_t timeout_ms);

/// The bytes of the tier in host memory: with device "cpu" there is none of its own.
Result<void> check_host_bytes(std::uint64_t bytes, const char* what);

/// Nothing for the sentinel of the type.
inline std::optional<std::int32_t> read_auto(std::int32_t value) {
  return value == TIMBRE_AUTO_I32 ? std::nullopt : std::optional(value);
}
inline std::optional<float> read_auto(float value) {
  return value == TIMBRE_AUTO_F32 ? std::nullopt : std::optional(value);
}

}  // namespace timbre::capi
