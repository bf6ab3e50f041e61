// SPDX-License-Identifier: MIT
//
// The structs of DLPack 1.0, by which array libraries hand tensors to each other (dmlc.github.io/dlpack). Only what a
// versioned export needs; the layout is that of the specification.
#pragma once

#include <cstdint>

namespace timbre::capi::dlpack {

inline constexpr std::int32_t kCpu = 1;
inline constexpr std::uint64_t kReadOnly = 1;  ///< of ManagedTensor::flags

enum class TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4 };

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  TypeCode code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements
  std::uint64_t byte_offset;
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

/// DLManagedTensorVersioned.
struct ManagedTensor {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensor* self);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace timbre::capi::dlpack
