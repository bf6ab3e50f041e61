// SPDX-License-Identifier: MIT
#include "capi/voice_arguments.hpp"

#include "capi/arguments.hpp"

namespace timbre::capi {
namespace {

constexpr std::uint64_t kMaxTensors = 64;
constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{64} << 20U;
constexpr std::uint32_t kMaxRank = 4;

std::optional<voice::DType> read_dtype(std::int32_t dtype) {
  switch (dtype) {
    case TIMBRE_DTYPE_F32:
      return voice::DType::kF32;
    case TIMBRE_DTYPE_F16:
      return voice::DType::kF16;
    case TIMBRE_DTYPE_BF16:
      return voice::DType::kBF16;
    case TIMBRE_DTYPE_I32:
      return voice::DType::kI32;
    case TIMBRE_DTYPE_I64:
      return voice::DType::kI64;
    default:
      return std::nullopt;
  }
}

Result<voice::Tensor> read_tensor(const timbre_tensor& given) {
  Result<std::string> name = read_text(given.name, "a tensor's name");
  if (!name) return std::move(name).error();
  if (given.rank > kMaxRank)
    return invalid(fmt::format("tensor '{}': rank {} is above {}", *name, given.rank, kMaxRank));
  if (given.size_bytes > kMaxTensorBytes) {
    return invalid(
        fmt::format("tensor '{}': {} bytes, at most {} are taken", *name, given.size_bytes, kMaxTensorBytes));
  }
  if (given.data == nullptr) return invalid(fmt::format("tensor '{}': data is NULL", *name));
  const std::optional<voice::DType> dtype = read_dtype(given.dtype);
  if (!dtype) return invalid(fmt::format("tensor '{}': dtype {} is unknown", *name, given.dtype));
  voice::Tensor tensor;
  tensor.name = std::move(*name);
  tensor.dtype = *dtype;
  tensor.shape.assign(given.shape, given.shape + given.rank);
  const auto* bytes = static_cast<const std::byte*>(given.data);
  tensor.data.assign(bytes, bytes + given.size_bytes);
  return tensor;
}

std::int32_t dtype_code(voice::DType dtype) {
  switch (dtype) {
    case voice::DType::kF16:
      return TIMBRE_DTYPE_F16;
    case voice::DType::kBF16:
      return TIMBRE_DTYPE_BF16;
    case voice::DType::kI32:
      return TIMBRE_DTYPE_I32;
    case voice::DType::kI64:
      return TIMBRE_DTYPE_I64;
    default:
      return TIMBRE_DTYPE_F32;
  }
}

}  // namespace

Result<std::vector<voice::Tensor>> read_tensors(const timbre_tensor* tensors, std::uint64_t count,
                                                std::uint64_t tensor_size) {
  std::vector<voice::Tensor> read;
  if (count == 0) return read;
  if (tensors == nullptr) return invalid("tensors is NULL");
  if (count > kMaxTensors) return invalid(fmt::format("{} tensors, at most {} are taken", count, kMaxTensors));
  if (Result<void> checked = check_element_size<timbre_tensor>(tensor_size, "tensor_size"); !checked) {
    return std::move(checked).error();
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    Result<timbre_tensor> given = read_element(tensors, tensor_size, i, timbre_tensor{}, "a tensor");
    if (!given) return std::move(given).error();
    Result<voice::Tensor> tensor = read_tensor(*given);
    if (!tensor) return std::move(tensor).error();
    read.push_back(std::move(*tensor));
  }
  return read;
}

Result<const voice::PackedTensor*> find_tensor(const bank::VoiceLease& lease, const char* name) {
  if (name == nullptr) return invalid("the tensor's name is NULL");
  const voice::PackedLayout& layout = lease.layout();
  if (const voice::PackedTensor* found = layout.find(name)) return found;
  std::string names;
  for (const voice::PackedTensor& tensor : layout.tensors) names += (names.empty() ? "'" : ", '") + tensor.name + "'";
  return Error{Status::kNotFound, fmt::format("voice '{}' has no tensor '{}', it has {}", lease.id(), name,
                                              names.empty() ? "none" : names)};
}

timbre_tensor tensor_of(const bank::VoiceLease& lease, const voice::PackedTensor& place) {
  timbre_tensor tensor{};
  tensor.dtype = dtype_code(place.dtype);
  tensor.name = place.name.c_str();
  tensor.data = reinterpret_cast<const void*>(lease.address() + place.offset);
  tensor.size_bytes = place.bytes;
  tensor.rank = static_cast<std::uint32_t>(place.shape.size());
  std::copy(place.shape.begin(), place.shape.end(), tensor.shape);
  return tensor;
}

}  // namespace timbre::capi
