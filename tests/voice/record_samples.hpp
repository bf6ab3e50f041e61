// SPDX-License-Identifier: MIT
//
// Voice records for tests of their bytes and their stores.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "voice/voice_record.hpp"

namespace timbre::test {

inline voice::Tensor tensor_of(std::string name, voice::DType dtype, std::vector<std::int64_t> shape,
                               const std::vector<unsigned char>& bytes) {
  voice::Tensor tensor{std::move(name), dtype, std::move(shape), {}};
  tensor.data.resize(bytes.size());
  std::memcpy(tensor.data.data(), bytes.data(), bytes.size());
  return tensor;
}

inline voice::Tensor floats(std::string name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  voice::Tensor tensor{std::move(name), voice::DType::kF32, std::move(shape), {}};
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

/// Every field and every dtype that a record may have. tests/data/records/version-1.voice is its encoding.
inline voice::VoiceRecord full_record() {
  voice::VoiceRecord record;
  record.tensors = {floats("content", {2, 3}, {0.5F, -1.0F, 2.25F, 1e-20F, -0.0F, 65504.0F}),
                    tensor_of("half", voice::DType::kF16, {2}, {0x00, 0x3C, 0x00, 0xC0}),
                    tensor_of("brain", voice::DType::kBF16, {1, 1, 1, 2}, {0x80, 0x3F, 0x00, 0xC0}),
                    tensor_of("count", voice::DType::kI32, {}, {7, 0, 0, 0}),
                    tensor_of("long", voice::DType::kI64, {1}, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F})};
  record.model_fingerprint = "0123456789abcdef0123456789abcdef";
  record.encoder = "encoder 1";
  record.language = "de-CH";
  record.note = "\xC3\xA4 note";
  record.speaker = 3;
  record.normalised = true;
  record.sample_rate_hz = 22050;
  record.scales = {0.667F, 1.0F, 0.8F};
  return record;
}

/// A voice that tells whose it is and which stamp it has in each of its values.
inline voice::VoiceRecord stamped_record(std::uint64_t number, std::uint64_t stamp, std::size_t count = 320) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((number * 7919 + stamp * 104'729 + i * 31) % 65'521);
  }
  values[0] = static_cast<float>(number);
  values[1] = static_cast<float>(stamp);
  voice::VoiceRecord record;
  record.tensors.push_back(floats("content", {static_cast<std::int64_t>(count)}, values));
  return record;
}

/// The stamp of a record of voice `number`, or nothing where any value is not what it should be.
inline std::optional<std::uint64_t> stamp_in(const voice::VoiceRecord& record, std::uint64_t number) {
  if (record.tensors.size() != 1) return std::nullopt;
  const std::vector<float> values = voice::to_floats(record.tensors[0].view());
  if (values.size() < 2) return std::nullopt;
  const auto stamp = static_cast<std::uint64_t>(values[1]);
  const voice::VoiceRecord expected = stamped_record(number, stamp, values.size());
  if (record.tensors[0].data != expected.tensors[0].data) return std::nullopt;
  return stamp;
}

}  // namespace timbre::test
