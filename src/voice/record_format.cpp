// SPDX-License-Identifier: MIT
//
// Writer and reader know the layout from one place each; a test holds them against a file that was made once.
#include "voice/record_format.hpp"

#define XXH_INLINE_ALL  // header-only: no library to load
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace timbre::voice {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

constexpr std::array<unsigned char, 8> kMagic = {0x89, 'T', 'M', 'B', 'V', '\r', '\n', 0x1A};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kChecksumBytes = 8;
constexpr std::uint32_t kMaxTensors = 64;
constexpr std::uint8_t kMaxRank = 4;

constexpr std::uint32_t kNormalised = 1;
constexpr std::uint32_t kSpeaker = 2;
constexpr std::uint32_t kNoise = 4;
constexpr std::uint32_t kLength = 8;
constexpr std::uint32_t kNoiseW = 16;
constexpr std::uint32_t kAllFlags = 31;

/// As it lies in the file.
struct Header {
  std::array<unsigned char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t flags = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t schema = 0;
  std::uint32_t tensor_count = 0;
  std::uint32_t data_offset = 0;
  std::uint32_t sample_rate_hz = 0;
  std::int32_t speaker = 0;
  float noise = 0;
  float length = 0;
  float noise_w = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(Header) == kHeaderBytes);

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr std::array<std::pair<std::uint8_t, DType>, 6> kDTypes = {
    {{1, DType::kF32}, {2, DType::kF16}, {3, DType::kBF16}, {4, DType::kI32}, {5, DType::kI64}, {6, DType::kI8}}};

std::uint8_t code_of(DType dtype) {
  for (const auto& [code, known] : kDTypes) {
    if (known == dtype) return code;
  }
  return 0;
}

std::optional<DType> dtype_of(std::uint8_t code) {
  for (const auto& [known, dtype] : kDTypes) {
    if (known == code) return dtype;
  }
  return std::nullopt;
}

// ---- Writing

template <typename T>
void append(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void append_bytes(std::vector<std::byte>& out, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

void append_entry(std::vector<std::byte>& out, const Tensor& tensor, std::uint64_t offset) {
  append(out, static_cast<std::uint8_t>(tensor.name.size()));
  append_bytes(out, tensor.name);
  append(out, static_cast<std::uint8_t>(Codec::kPlain));
  append(out, code_of(tensor.dtype));
  append(out, code_of(tensor.dtype));
  append(out, static_cast<std::uint8_t>(tensor.shape.size()));
  for (const std::int64_t size : tensor.shape) append(out, size);
  append(out, offset);
  append(out, static_cast<std::uint64_t>(tensor.data.size()));
}

std::uint64_t entry_bytes(const Tensor& tensor) { return 1 + tensor.name.size() + 4 + tensor.shape.size() * 8 + 16; }

Header header_of(const VoiceRecord& record) {
  Header header;
  header.flags = (record.normalised ? kNormalised : 0) | (record.speaker ? kSpeaker : 0) |
                 (record.scales.noise ? kNoise : 0) | (record.scales.length ? kLength : 0) |
                 (record.scales.noise_w ? kNoiseW : 0);
  header.tensor_count = static_cast<std::uint32_t>(record.tensors.size());
  header.sample_rate_hz = record.sample_rate_hz;
  header.speaker = record.speaker.value_or(0);
  header.noise = record.scales.noise.value_or(0);
  header.length = record.scales.length.value_or(0);
  header.noise_w = record.scales.noise_w.value_or(0);
  return header;
}

// ---- Reading

/// What is left to read of a head whose bytes are known to be there or not at each step.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  [[nodiscard]] std::uint64_t at() const { return at_; }
  void move_to(std::uint64_t at) { at_ = at; }

  template <typename... Args>
  [[nodiscard]] Error wrong(std::uint64_t at, fmt::format_string<Args...> text, Args&&... args) const {
    return {Status::kFormat,
            fmt::format("{}: at byte {}: {}", where_, at, fmt::format(text, std::forward<Args>(args)...))};
  }
  [[nodiscard]] Error ends(std::uint64_t wanted) const {
    return wrong(at_, "{} bytes expected, {} left", wanted, bytes_.size() - at_);
  }

  template <typename T>
  [[nodiscard]] bool take(T& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  [[nodiscard]] bool take_text(std::uint64_t size, std::string& text) {
    if (bytes_.size() - at_ < size) return false;
    text.assign(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    at_ += size;
    return true;
  }
  /// The first byte of [from, to) that is not zero, or `to`.
  [[nodiscard]] std::uint64_t first_set(std::uint64_t from, std::uint64_t to) const {
    while (from < to && bytes_[from] == std::byte{0}) ++from;
    return from;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::string_view where() const { return where_; }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::uint64_t at_ = 0;
};

Result<Header> read_header(Reader& reader) {
  Header header;
  const std::uint64_t size = reader.bytes().size();
  if (size < kHeaderBytes + kChecksumBytes || !reader.take(header)) {
    return reader.wrong(0, "{} bytes, a voice record has at least {}", size, kHeaderBytes + kChecksumBytes);
  }
  if (header.magic != kMagic) return reader.wrong(0, "this is no voice record");
  if (header.version != kVersion) {
    return Error{Status::kUnsupported, fmt::format("{}: at byte 8: format version {}, this reader knows {}",
                                                   reader.where(), header.version, kVersion)};
  }
  if (header.total_bytes != size) return reader.wrong(16, "{} bytes expected, found {}", header.total_bytes, size);
  const std::uint64_t found = checksum_of(reader.bytes().first(size - kChecksumBytes));
  if (const std::uint64_t expected = stored_checksum(reader.bytes()); expected != found) {
    return reader.wrong(size - kChecksumBytes, "checksum {:016x} expected, found {:016x}", expected, found);
  }
  if ((header.flags & ~kAllFlags) != 0) return reader.wrong(12, "unknown flags {:#x}", header.flags);
  if (header.tensor_count > kMaxTensors) {
    return reader.wrong(32, "{} tensors, at most {} are known", header.tensor_count, kMaxTensors);
  }
  if (header.data_offset % kAlignment != 0 || header.data_offset < kHeaderBytes ||
      header.data_offset > size - kChecksumBytes) {
    return reader.wrong(36, "data begin at {}, of {} bytes", header.data_offset, size);
  }
  if (header.zero != 0) return reader.wrong(60, "0 expected, found {}", header.zero);
  return header;
}

template <typename T>
bool is_unset(T value) {
  return std::bit_cast<std::uint32_t>(value) == 0;  // -0 is another bit pattern
}

Result<void> take_fields(const Reader& reader, const Header& header, VoiceRecord& record) {
  record.normalised = (header.flags & kNormalised) != 0;
  record.sample_rate_hz = header.sample_rate_hz;
  if ((header.flags & kSpeaker) != 0) {
    record.speaker = header.speaker;
  } else if (header.speaker != 0) {
    return reader.wrong(44, "speaker {} without its flag", header.speaker);
  }
  const std::tuple<std::uint32_t, float, std::optional<float>&, std::uint64_t> scales[] = {
      {kNoise, header.noise, record.scales.noise, 48},
      {kLength, header.length, record.scales.length, 52},
      {kNoiseW, header.noise_w, record.scales.noise_w, 56}};
  for (const auto& [flag, value, scale, at] : scales) {
    if ((header.flags & flag) != 0) {
      scale = value;
    } else if (!is_unset(value)) {
      return reader.wrong(at, "scale {} without its flag", value);
    }
  }
  return {};
}

Result<void> read_texts(Reader& reader, VoiceRecord& record) {
  for (std::string* text : {&record.model_fingerprint, &record.encoder, &record.language, &record.note}) {
    std::uint32_t size = 0;
    if (!reader.take(size)) return reader.ends(sizeof size);
    if (!reader.take_text(size, *text)) return reader.ends(size);
  }
  return {};
}

/// What an entry tells beside the tensor.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<Place> read_entry(Reader& reader, Tensor& tensor) {
  const std::uint64_t begin = reader.at();
  std::uint8_t name_bytes = 0;
  if (!reader.take(name_bytes)) return reader.ends(1);
  if (!reader.take_text(name_bytes, tensor.name)) return reader.ends(name_bytes);
  std::array<std::uint8_t, 4> codes{};  // codec, dtype, dtype before, rank
  if (!reader.take(codes)) return reader.ends(codes.size());
  if (codes[0] != static_cast<std::uint8_t>(Codec::kPlain)) {
    return Error{Status::kUnsupported, fmt::format("{}: at byte {}: tensor '{}': codec {}, this reader knows 0",
                                                   reader.where(), begin, tensor.name, codes[0])};
  }
  const std::optional<DType> dtype = dtype_of(codes[1]);
  if (!dtype || codes[2] != codes[1]) {
    return reader.wrong(begin, "tensor '{}': dtype {} of an original {} without a codec", tensor.name, codes[1],
                        codes[2]);
  }
  tensor.dtype = *dtype;
  if (codes[3] > kMaxRank)
    return reader.wrong(begin, "tensor '{}': rank {} is above {}", tensor.name, codes[3], kMaxRank);
  tensor.shape.resize(codes[3]);
  for (std::int64_t& size : tensor.shape) {
    if (!reader.take(size)) return reader.ends(sizeof size);
  }
  Place place;
  if (!reader.take(place.offset) || !reader.take(place.bytes)) return reader.ends(2 * sizeof place.bytes);
  const std::optional<std::uint64_t> count = element_count(tensor.shape);
  if (!count || *count == 0 || *count > reader.bytes().size() || *count * dtype_bytes(*dtype) != place.bytes) {
    return reader.wrong(begin, "tensor '{}': {} bytes for shape {}", tensor.name, place.bytes,
                        shape_text(tensor.shape));
  }
  return place;
}

/// Entries, then their data, which lie one behind the other.
Result<void> read_tensors(Reader& reader, const Header& header, VoiceRecord& record) {
  const std::uint64_t data_end = reader.bytes().size() - kChecksumBytes;
  const std::uint64_t table = reader.at();
  std::array<Place, kMaxTensors> places;
  record.tensors.resize(header.tensor_count);
  for (std::uint32_t i = 0; i < header.tensor_count; ++i) {
    Result<Place> place = read_entry(reader, record.tensors[i]);
    if (!place) return std::move(place).error();
    places[i] = *place;
  }
  std::uint64_t end = reader.at();
  if (aligned(end) != header.data_offset)
    return reader.wrong(36, "data begin at {}, expected {}", header.data_offset, aligned(end));
  if (const std::uint64_t found = checksum_of(reader.bytes().subspan(table, end - table)); found != header.schema) {
    return reader.wrong(24, "schema {:016x} expected, found {:016x}", header.schema, found);
  }
  for (std::uint32_t i = 0; i < header.tensor_count; ++i) {
    Tensor& tensor = record.tensors[i];
    if (places[i].offset != aligned(end) || places[i].offset > data_end ||
        places[i].bytes > data_end - places[i].offset) {
      return reader.wrong(table, "tensor '{}': {} bytes at {}, expected at {} of {}", tensor.name, places[i].bytes,
                          places[i].offset, aligned(end), data_end);
    }
    if (const std::uint64_t set = reader.first_set(end, places[i].offset); set != places[i].offset) {
      return reader.wrong(set, "0 expected before tensor '{}'", tensor.name);
    }
    const std::span<const std::byte> data = reader.bytes().subspan(places[i].offset, places[i].bytes);
    tensor.data.assign(data.begin(), data.end());
    end = places[i].offset + places[i].bytes;
  }
  if (aligned(end) != data_end) return reader.wrong(end, "data end at {}, expected {}", data_end, aligned(end));
  if (const std::uint64_t set = reader.first_set(end, data_end); set != data_end) {
    return reader.wrong(set, "0 expected behind the data");
  }
  return {};
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t stored_checksum(std::span<const std::byte> bytes) {
  std::uint64_t checksum = 0;
  if (bytes.size() >= kChecksumBytes) {
    std::memcpy(&checksum, bytes.data() + bytes.size() - kChecksumBytes, sizeof checksum);
  }
  return checksum;
}

Result<EncodedRecord> encode(const VoiceRecord& record) {
  Header header = header_of(record);
  if (record.tensors.size() > kMaxTensors) {
    return Error{Status::kInvalidArgument,
                 fmt::format("{} tensors, a record holds at most {}", record.tensors.size(), kMaxTensors)};
  }
  std::vector<std::byte> out(kHeaderBytes);
  for (const std::string* text : {&record.model_fingerprint, &record.encoder, &record.language, &record.note}) {
    if (text->size() > std::numeric_limits<std::uint32_t>::max() / 8) {
      return Error{Status::kInvalidArgument, fmt::format("a text of {} bytes is too long for a record", text->size())};
    }
    append(out, static_cast<std::uint32_t>(text->size()));
    append_bytes(out, *text);
  }
  const std::uint64_t table = out.size();
  std::uint64_t end = table;
  for (const Tensor& tensor : record.tensors) end += entry_bytes(tensor);
  header.data_offset = static_cast<std::uint32_t>(aligned(end));
  std::uint64_t offset = header.data_offset;
  for (const Tensor& tensor : record.tensors) {
    append_entry(out, tensor, offset);
    offset += aligned(tensor.data.size());
  }
  header.schema = checksum_of(std::span(out).subspan(table));
  header.total_bytes = offset + kChecksumBytes;
  out.reserve(header.total_bytes);
  out.resize(header.data_offset);
  for (const Tensor& tensor : record.tensors) {
    out.insert(out.end(), tensor.data.begin(), tensor.data.end());
    out.resize(aligned(out.size()));
  }
  std::memcpy(out.data(), &header, sizeof header);
  const std::uint64_t checksum = checksum_of(out);
  append(out, checksum);
  return EncodedRecord{std::move(out), checksum};
}

Result<VoiceRecord> decode(std::span<const std::byte> bytes, std::string_view where) {
  Reader reader(bytes, where);
  Result<Header> header = read_header(reader);
  if (!header) return std::move(header).error();
  VoiceRecord record;
  if (Result<void> taken = take_fields(reader, *header, record); !taken) return std::move(taken).error();
  if (Result<void> read = read_texts(reader, record); !read) return std::move(read).error();
  if (Result<void> read = read_tensors(reader, *header, record); !read) return std::move(read).error();
  if (Result<void> checked = check(record); !checked) {
    return Error{Status::kFormat, fmt::format("{}: {}", where, checked.error().message)};
  }
  return record;
}

}  // namespace timbre::voice
