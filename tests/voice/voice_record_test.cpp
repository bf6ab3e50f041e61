// SPDX-License-Identifier: MIT
#include "voice/voice_record.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

using timbre::Status;
using namespace timbre::voice;  // NOLINT: the subject of the test

namespace {

constexpr const char* kFingerprint = "0123456789abcdef0123456789abcdef";

Tensor floats(std::string name, std::vector<float> values) {
  Tensor tensor{std::move(name), DType::kF32, {static_cast<std::int64_t>(values.size())}, {}};
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

std::string refusal(const VoiceRecord& record) {
  const timbre::Result<void> checked = check(record);
  REQUIRE(!checked);
  REQUIRE(checked.error().status == Status::kInvalidArgument);
  return checked.error().message;
}

}  // namespace

TEST_CASE("a record with a vector and a model is good", "[voice]") {
  VoiceRecord record;
  record.tensors = {floats("g", {1, 2, 3}), floats("style", {4})};
  record.model_fingerprint = kFingerprint;
  REQUIRE(check(record));
  REQUIRE(record.find("style")->shape == std::vector<std::int64_t>{1});
  REQUIRE(record.find("content") == nullptr);
}

TEST_CASE("a record of a model alone is good, of nothing at all is not", "[voice]") {
  VoiceRecord record;
  REQUIRE(refusal(record).find("no tensors") != std::string::npos);
  record.model_fingerprint = kFingerprint;
  REQUIRE(check(record));
  record.model_fingerprint = "0123";
  REQUIRE(refusal(record).find("0123") != std::string::npos);
}

TEST_CASE("what is wrong with a tensor is told by its name", "[voice]") {
  VoiceRecord record;
  record.tensors = {floats("g", {1, 2, 3})};
  Tensor& g = record.tensors.front();
  SECTION("shape against bytes") {
    g.shape = {4};
    REQUIRE(refusal(record).find("'g'") != std::string::npos);
  }
  SECTION("negative and overflowing shapes") {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{-1}, {0}, {std::numeric_limits<std::int64_t>::max(), 4}}) {
      g.shape = shape;
      REQUIRE(refusal(record).find("impossible shape") != std::string::npos);
    }
  }
  SECTION("rank") {
    g.shape = {1, 1, 1, 1, 3};
    REQUIRE(refusal(record).find("rank 5") != std::string::npos);
  }
  SECTION("infinity") {
    g = floats("g", {1, std::numeric_limits<float>::infinity()});
    REQUIRE(refusal(record).find("element 1") != std::string::npos);
  }
  SECTION("half-precision infinity") {
    g = Tensor{"g", DType::kF16, {1}, {std::byte{0x00}, std::byte{0x7C}}};
    REQUIRE(refusal(record).find("not finite") != std::string::npos);
  }
  SECTION("two of one name") {
    record.tensors.push_back(g);
    REQUIRE(refusal(record).find("two tensors") != std::string::npos);
  }
  SECTION("a speaker beside the vector") {
    record.speaker = 1;
    REQUIRE(refusal(record).find("both") != std::string::npos);
  }
  SECTION("a dtype that is not kept") {
    g = Tensor{"g", DType::kU8, {1}, {std::byte{0}}};
    REQUIRE(refusal(record).find("U8") != std::string::npos);
  }
}

TEST_CASE("scales of a record are finite and a length is above zero", "[voice]") {
  VoiceRecord record;
  record.model_fingerprint = kFingerprint;
  record.scales.noise = 0.0F;
  REQUIRE(check(record));
  record.scales.length = 0.0F;
  REQUIRE(refusal(record).find("length_scale") != std::string::npos);
}
