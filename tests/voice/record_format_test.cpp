// SPDX-License-Identifier: MIT
#include "voice/record_format.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "files/file_bytes.hpp"
#include "record_samples.hpp"

using namespace timbre;        // NOLINT: a test
using namespace timbre::test;  // NOLINT: a test
using voice::decode;
using voice::encode;
using voice::VoiceRecord;

namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
void set(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// The bytes with a checksum that fits them.
Bytes sealed(Bytes bytes) {
  const auto content = std::span(bytes).first(bytes.size() - 8);
  set(bytes, bytes.size() - 8, voice::checksum_of(content));
  return bytes;
}

std::string refusal(const Bytes& bytes) {
  const auto record = decode(bytes, "x");
  REQUIRE_FALSE(record);
  return record.error().message;
}

void check_equal(const VoiceRecord& a, const VoiceRecord& b) {
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].name == b.tensors[i].name);
    CHECK(a.tensors[i].dtype == b.tensors[i].dtype);
    CHECK(a.tensors[i].shape == b.tensors[i].shape);
    CHECK(a.tensors[i].data == b.tensors[i].data);
  }
  CHECK(a.model_fingerprint == b.model_fingerprint);
  CHECK(a.encoder == b.encoder);
  CHECK(a.language == b.language);
  CHECK(a.note == b.note);
  CHECK(a.speaker == b.speaker);
  CHECK(a.normalised == b.normalised);
  CHECK(a.sample_rate_hz == b.sample_rate_hz);
  CHECK(a.scales.noise == b.scales.noise);
  CHECK(a.scales.length == b.scales.length);
  CHECK(a.scales.noise_w == b.scales.noise_w);
}

}  // namespace

TEST_CASE("a record of format version 1 is read, and today's writer gives the same bytes", "[voice][format]") {
  const auto kept = files::read_file_bytes(TIMBRE_RECORDS_DIR "/version-1.voice");
  REQUIRE(kept);
  const auto record = decode(kept->bytes, "version-1.voice");
  INFO((record ? std::string() : record.error().message));
  REQUIRE(record);
  check_equal(*record, full_record());
  const auto written = encode(full_record());
  REQUIRE(written);
  REQUIRE(std::equal(written->bytes.begin(), written->bytes.end(), kept->bytes.begin(), kept->bytes.end()));
  REQUIRE(written->checksum == voice::stored_checksum(kept->bytes));
}

TEST_CASE("a record comes back as it was written, also without tensors or texts", "[voice][format]") {
  VoiceRecord speaker;
  speaker.model_fingerprint = "0123456789abcdef0123456789abcdef";
  speaker.speaker = 0;
  speaker.scales.noise = 0.0F;
  for (const VoiceRecord& record : {full_record(), speaker, stamped_record(1, 2, 5000)}) {
    const auto written = encode(record);
    REQUIRE(written);
    const auto read = decode(written->bytes, "x");
    REQUIRE(read);
    check_equal(*read, record);
  }
}

TEST_CASE("a record cut short or with any bit turned is refused", "[voice][format]") {
  const Bytes whole = encode(full_record())->bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = decode(std::span(whole).first(size), "x");
    REQUIRE_FALSE(cut);
    REQUIRE(cut.error().message.starts_with("x: at byte "));
  }
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes bytes = whole;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    REQUIRE_FALSE(decode(bytes, "x"));
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  REQUIRE(refusal(longer).find("bytes expected, found") != std::string::npos);
}

TEST_CASE("what a reader does not know is refused with its place, whatever the checksum says", "[voice][format]") {
  const Bytes whole = encode(full_record())->bytes;
  const auto with = [&](std::size_t at, auto value) {
    Bytes bytes = whole;
    set(bytes, at, value);
    return sealed(std::move(bytes));
  };
  CHECK(refusal(with(0, 'G')) == "x: at byte 0: this is no voice record");
  CHECK(refusal(with(8, 2U)) == "x: at byte 8: format version 2, this reader knows 1");
  CHECK(decode(with(8, 2U), "x").error().status == Status::kUnsupported);
  CHECK(refusal(with(12, 64U)) == "x: at byte 12: unknown flags 0x40");
  CHECK(refusal(with(12, 0U)).find("at byte 44: speaker 3 without its flag") != std::string::npos);
  CHECK(refusal(with(24, 1ULL)).find("at byte 24: schema") != std::string::npos);
  CHECK(refusal(with(32, 65U)).find("at byte 32: 65 tensors") != std::string::npos);
  CHECK(refusal(with(32, 4U)).find("at byte 36: data begin") != std::string::npos);
  CHECK(refusal(with(36, 100U)).find("at byte 36: data begin at 100") != std::string::npos);
  CHECK(refusal(with(44, -1)).find("speaker -1 is negative") != std::string::npos);
  CHECK(refusal(with(60, 1U)) == "x: at byte 60: 0 expected, found 1");
  const std::size_t table = 64 + 4 * 4 + 32 + 9 + 5 + 7;
  CHECK(refusal(with(table + 8, std::uint8_t{9})).find("tensor 'content': codec 9") != std::string::npos);
  CHECK(decode(with(table + 8, std::uint8_t{9}), "x").error().status == Status::kUnsupported);
  CHECK(refusal(with(table + 9, std::uint8_t{77})).find("tensor 'content': dtype 77") != std::string::npos);
  CHECK(refusal(with(table + 11, std::uint8_t{5})).find("tensor 'content': rank 5") != std::string::npos);
  CHECK(refusal(with(table + 12, std::int64_t{1} << 61)).find("tensor 'content': 24 bytes for shape") !=
        std::string::npos);
  CHECK(refusal(with(whole.size() - 9, std::uint8_t{1})).find("0 expected behind the data") != std::string::npos);
}

TEST_CASE("a record whose values are not finite is refused, and the tensor named", "[voice][format]") {
  VoiceRecord record = stamped_record(1, 1);
  Bytes bytes = encode(record)->bytes;
  std::uint32_t data = 0;
  std::memcpy(&data, bytes.data() + 36, sizeof data);
  set(bytes, data + 8, 0x7F800000U);
  CHECK(refusal(sealed(bytes)) == "x: tensor 'content': element 2 is not finite");
  CHECK(decode(sealed(bytes), "x").error().status == Status::kFormat);
}
