// SPDX-License-Identifier: MIT
//
// PackedLayout: how the tensors of a voice lie in one row of a tier, and what else a lease tells without the store.
//
// Invariants
//   * Tensors lie in the record's order, each at a multiple of 64 bytes; what is between them is zero.
//   * A row has at least 64 bytes, also that of a record without tensors: a tier keeps no empty entries.
//   * unpack(layout_of(record), pack(record)) is the record but for its free texts (encoder, language, note).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "voice/voice_record.hpp"

namespace timbre::voice {

/// One tensor of a row.
struct PackedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  ///< from the row's begin, in bytes
  std::uint64_t bytes = 0;
};

struct PackedLayout {
  static constexpr std::uint64_t kAlignment = 64;

  std::vector<PackedTensor> tensors;
  std::uint64_t row_bytes = kAlignment;
  std::string model_fingerprint;  ///< 32 hex digits, or empty
  std::optional<std::int32_t> speaker;
  bool normalised = false;
  std::uint32_t sample_rate_hz = 0;
  Scales scales;

  [[nodiscard]] const PackedTensor* find(std::string_view name) const;
};

[[nodiscard]] PackedLayout layout_of(const VoiceRecord& record);

/// Writes the whole row. @param row  layout.row_bytes long; `layout` is the record's.
void pack(const VoiceRecord& record, const PackedLayout& layout, std::span<std::byte> row);

/// @param row  layout.row_bytes long.
[[nodiscard]] VoiceRecord unpack(const PackedLayout& layout, std::span<const std::byte> row);

/// The bytes that two layouts share only if they are equal.
[[nodiscard]] std::string layout_key(const PackedLayout& layout);

/// XXH3-64 of a record, its free texts included: the checksum of its version where a store has no bytes of its own.
[[nodiscard]] std::uint64_t checksum(const VoiceRecord& record);

}  // namespace timbre::voice
