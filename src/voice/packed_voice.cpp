// SPDX-License-Identifier: MIT
//
// Keys and checksums are taken over the same serialisation: each field behind its length or a mark that it is there.
#include "voice/packed_voice.hpp"

#define XXH_INLINE_ALL  // header-only: no library to load
#include <xxhash.h>

#include <cstring>

namespace timbre::voice {
namespace {

template <typename T>
void append(std::string& out, const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& out, std::string_view text) {
  append(out, static_cast<std::uint64_t>(text.size()));
  out.append(text);
}
template <typename T>
void append_optional(std::string& out, const std::optional<T>& value) {
  append(out, static_cast<char>(value.has_value()));
  append(out, value.value_or(T{}));
}

}  // namespace

const PackedTensor* PackedLayout::find(std::string_view name) const {
  for (const PackedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

PackedLayout layout_of(const VoiceRecord& record) {
  PackedLayout layout;
  std::uint64_t end = 0;
  for (const Tensor& tensor : record.tensors) {
    layout.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, end, tensor.data.size()});
    end += (tensor.data.size() + PackedLayout::kAlignment - 1) / PackedLayout::kAlignment * PackedLayout::kAlignment;
  }
  layout.row_bytes = end == 0 ? PackedLayout::kAlignment : end;
  layout.model_fingerprint = record.model_fingerprint;
  layout.speaker = record.speaker;
  layout.normalised = record.normalised;
  layout.sample_rate_hz = record.sample_rate_hz;
  layout.scales = record.scales;
  return layout;
}

void pack(const VoiceRecord& record, const PackedLayout& layout, std::span<std::byte> row) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < record.tensors.size(); ++i) {
    const PackedTensor& place = layout.tensors[i];
    std::memset(row.data() + end, 0, place.offset - end);
    std::memcpy(row.data() + place.offset, record.tensors[i].data.data(), place.bytes);
    end = place.offset + place.bytes;
  }
  std::memset(row.data() + end, 0, row.size() - end);
}

VoiceRecord unpack(const PackedLayout& layout, std::span<const std::byte> row) {
  VoiceRecord record;
  for (const PackedTensor& place : layout.tensors) {
    const std::span<const std::byte> bytes = row.subspan(place.offset, place.bytes);
    record.tensors.push_back({place.name, place.dtype, place.shape, {bytes.begin(), bytes.end()}});
  }
  record.model_fingerprint = layout.model_fingerprint;
  record.speaker = layout.speaker;
  record.normalised = layout.normalised;
  record.sample_rate_hz = layout.sample_rate_hz;
  record.scales = layout.scales;
  return record;
}

std::string layout_key(const PackedLayout& layout) {
  std::string key;
  append(key, static_cast<std::uint64_t>(layout.tensors.size()));
  for (const PackedTensor& tensor : layout.tensors) {
    append_text(key, tensor.name);
    append(key, static_cast<char>(tensor.dtype));
    append(key, static_cast<std::uint64_t>(tensor.shape.size()));
    for (const std::int64_t size : tensor.shape) append(key, size);
  }
  append_text(key, layout.model_fingerprint);
  append_optional(key, layout.speaker);
  append(key, static_cast<char>(layout.normalised));
  append(key, layout.sample_rate_hz);
  append_optional(key, layout.scales.noise);
  append_optional(key, layout.scales.length);
  append_optional(key, layout.scales.noise_w);
  return key;
}

std::uint64_t checksum(const VoiceRecord& record) {
  std::string head = layout_key(layout_of(record));
  append_text(head, record.encoder);
  append_text(head, record.language);
  append_text(head, record.note);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, head.data(), head.size());
  for (const Tensor& tensor : record.tensors) XXH3_64bits_update(&state, tensor.data.data(), tensor.data.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace timbre::voice
