// SPDX-License-Identifier: MIT
//
// Views of named tensors: what is put, said inline, or read from a lease.
//
// Invariant: a Tensor is a timbre_tensor and nothing more, so that an array of them goes through the C ABI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "timbre/wrapper/exception.hpp"

namespace timbre {

/// A view of one named tensor, dense and row-major.
struct Tensor : timbre_tensor {
  /// A vector of floats, such as "g".
  Tensor(const char* tensor_name, std::span<const float> values)
      : Tensor(tensor_name, TIMBRE_DTYPE_F32, std::as_bytes(values),
               std::array{static_cast<std::int64_t>(values.size())}) {}
  /// Any dtype; more than four dimensions are an INVALID_ARGUMENT of the call that takes the tensor.
  Tensor(const char* tensor_name, std::int32_t tensor_dtype, std::span<const std::byte> bytes,
         std::span<const std::int64_t> dimensions)
      : timbre_tensor{} {
    struct_size = sizeof(timbre_tensor);
    dtype = tensor_dtype;
    name = tensor_name;
    data = bytes.data();
    size_bytes = bytes.size();
    rank = static_cast<std::uint32_t>(dimensions.size());
    for (std::size_t i = 0; i < dimensions.size() && i < 4; ++i) shape[i] = dimensions[i];
  }
  /// A tensor that the library tells of.
  explicit Tensor(const timbre_tensor& told) : timbre_tensor(told) {}

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size_bytes)};
  }
  /// Its elements, row-major: float, std::int32_t, std::int64_t, or std::uint16_t for the bits of F16 and BF16. Another
  /// type than its own is INVALID_ARGUMENT. Needs host memory.
  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    if (!holds<T>()) {
      throw Exception(TIMBRE_ERR_INVALID_ARGUMENT, "tensor \"" + std::string(name) + "\" has dtype " +
                                                       std::to_string(dtype) + ", not one of the type asked for");
    }
    return {static_cast<const T*>(data), static_cast<std::size_t>(size_bytes) / sizeof(T)};
  }
  [[nodiscard]] std::span<const std::int64_t> dimensions() const { return {shape, rank}; }

 private:
  template <typename T>
  [[nodiscard]] bool holds() const {
    if constexpr (std::is_same_v<T, float>) return dtype == TIMBRE_DTYPE_F32;
    if constexpr (std::is_same_v<T, std::int32_t>) return dtype == TIMBRE_DTYPE_I32;
    if constexpr (std::is_same_v<T, std::int64_t>) return dtype == TIMBRE_DTYPE_I64;
    if constexpr (std::is_same_v<T, std::uint16_t>) return dtype == TIMBRE_DTYPE_F16 || dtype == TIMBRE_DTYPE_BF16;
    return false;
  }
};

static_assert(sizeof(Tensor) == sizeof(timbre_tensor));

}  // namespace timbre
