// SPDX-License-Identifier: MIT
//
// The bytes of a voice record, as stores and files keep them: docs/record-format.md.
//
// Invariants
//   * One record has one encoding: decode(encode(r)) is r, and encode(decode(b)) is b for every b that decode() takes.
//   * decode() trusts nothing that it has not checked, the checksum first; what it gives has passed check().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "voice/voice_record.hpp"

namespace timbre::voice {

/// How the data of a tensor are written; numbers of the format, never reused.
enum class Codec : std::uint8_t { kPlain = 0 };

/// A record's bytes, and the checksum that they end with.
struct EncodedRecord {
  std::vector<std::byte> bytes;
  std::uint64_t checksum = 0;
};

/// @param record  has passed check().
/// @return kInvalidArgument where a text or a count is beyond what the format holds.
[[nodiscard]] Result<EncodedRecord> encode(const VoiceRecord& record);

/// @param where  what messages call the bytes.
/// @return kUnsupported (another format version, an unknown codec) or kFormat, with what was expected and found at
///         which offset.
[[nodiscard]] Result<VoiceRecord> decode(std::span<const std::byte> bytes, std::string_view where);

/// The checksum that record bytes end with; 0 where they are too short. Not checked.
[[nodiscard]] std::uint64_t stored_checksum(std::span<const std::byte> bytes);

/// XXH3-64 of some bytes, as records have it.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace timbre::voice
