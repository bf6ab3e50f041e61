// SPDX-License-Identifier: MIT
#include "voice/packed_voice.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "voice/layout_table.hpp"

using namespace timbre::voice;  // NOLINT: a test

namespace {

Tensor tensor(std::string name, std::size_t count, float first) {
  Tensor made;
  made.name = std::move(name);
  made.shape = {static_cast<std::int64_t>(count)};
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  made.data.resize(count * sizeof(float));
  std::memcpy(made.data.data(), values.data(), made.data.size());
  return made;
}

VoiceRecord two_tensors() {
  VoiceRecord record;
  record.tensors = {tensor("content", 5, 1), tensor("style", 17, 100)};
  record.model_fingerprint = std::string(32, 'a');
  record.normalised = true;
  record.sample_rate_hz = 22'050;
  record.scales.length = 1.25F;
  return record;
}

std::vector<std::byte> packed(const VoiceRecord& record) {
  const PackedLayout layout = layout_of(record);
  std::vector<std::byte> row(layout.row_bytes, std::byte{0xEE});
  pack(record, layout, row);
  return row;
}

}  // namespace

TEST_CASE("tensors lie at multiples of 64 bytes, with zeros between", "[voice][packed]") {
  const VoiceRecord record = two_tensors();
  const PackedLayout layout = layout_of(record);
  REQUIRE(layout.tensors.size() == 2);
  CHECK(layout.find("content")->offset == 0);
  CHECK(layout.find("content")->bytes == 20);
  CHECK(layout.find("style")->offset == 64);
  CHECK(layout.find("g") == nullptr);
  CHECK(layout.row_bytes == 64 + 128);
  const std::vector<std::byte> row = packed(record);
  CHECK(std::memcmp(row.data() + 64, record.tensors[1].data.data(), 68) == 0);
  for (std::size_t at : {20U, 63U, 64U + 68U, 191U}) CHECK(row[at] == std::byte{0});
}

TEST_CASE("what was packed is unpacked, but for the free texts", "[voice][packed]") {
  VoiceRecord record = two_tensors();
  record.note = "not kept in a row";
  const VoiceRecord back = unpack(layout_of(record), packed(record));
  REQUIRE(back.tensors.size() == 2);
  CHECK(back.tensors[0].data == record.tensors[0].data);
  CHECK(back.tensors[1].data == record.tensors[1].data);
  CHECK(back.tensors[1].shape == record.tensors[1].shape);
  CHECK(back.model_fingerprint == record.model_fingerprint);
  CHECK(back.normalised);
  CHECK(back.sample_rate_hz == 22'050);
  CHECK(back.scales.length == record.scales.length);
  CHECK(!back.scales.noise);
  CHECK(back.note.empty());
}

TEST_CASE("a record without tensors has a row of zeros", "[voice][packed]") {
  VoiceRecord record;
  record.model_fingerprint = std::string(32, 'b');
  record.speaker = 3;
  CHECK(packed(record) == std::vector<std::byte>(64));
  CHECK(unpack(layout_of(record), packed(record)).speaker == 3);
}

TEST_CASE("whatever differs between two records differs in the checksum", "[voice][packed]") {
  const VoiceRecord first = two_tensors();
  const std::uint64_t sum = checksum(first);
  CHECK(checksum(two_tensors()) == sum);
  VoiceRecord other = first;
  other.tensors[0].data[7] ^= std::byte{1};
  CHECK(checksum(other) != sum);
  other = first;
  other.tensors[0].name = "contend";
  CHECK(checksum(other) != sum);
  other = first;
  other.scales.noise = 0.0F;  // there, and zero
  CHECK(checksum(other) != sum);
  other = first;
  other.encoder = "x";
  const std::uint64_t encoder_sum = checksum(other);
  CHECK(encoder_sum != sum);
  other.encoder = "";
  other.language = "x";
  CHECK(checksum(other) != encoder_sum);
}

TEST_CASE("equal layouts share a number until the last hold goes", "[voice][layout]") {
  LayoutTable table;
  const std::uint32_t first = table.intern(layout_of(two_tensors()));
  CHECK(first != 0);
  CHECK(table.intern(layout_of(two_tensors())) == first);
  VoiceRecord other = two_tensors();
  other.scales.noise = 0.5F;
  const std::uint32_t second = table.intern(layout_of(other));
  CHECK(second != first);
  CHECK(table.size() == 2);
  CHECK(table.at(second).scales.noise == 0.5F);
  table.hold(first);
  table.drop(first);
  table.drop(first);
  CHECK(table.at(first).tensors.size() == 2);
  table.drop(first);
  CHECK(table.size() == 1);
  CHECK(table.intern(layout_of(two_tensors())) == first);  // a number that went is used again
}

TEST_CASE("numbers stay good while the table grows and others read it", "[voice][layout]") {
  LayoutTable table;
  const std::uint32_t kept = table.intern(layout_of(two_tensors()));
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        VoiceRecord record = two_tensors();
        record.speaker = t % 2 * 1000 + i;
        record.tensors.clear();
        const std::uint32_t number = table.intern(layout_of(record));
        if (table.at(number).speaker != record.speaker || table.at(kept).row_bytes != 192) wrong = true;
        if (i % 5 != 0) table.drop(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(!wrong);
  CHECK(table.size() == 1 + 200);
}
