// SPDX-License-Identifier: MIT
//
// The container alone: what is written is read, and headers that lie are refused.
#include "voice/safetensors.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <string>

namespace timbre::voice {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t size = header.size();
  std::string out(reinterpret_cast<const char*>(&size), sizeof size);
  return out + header + data;
}

Result<Safetensors> read(const std::string& bytes) {
  return read_safetensors({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "t.safetensors");
}

TensorView view_of(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  return {DType::kF32, std::move(shape), std::as_bytes(std::span(values))};
}

}  // namespace

TEST_CASE("what is written is read", "[vits][safetensors]") {
  const std::vector<float> g{1, -2, 3.5F, 0, 5, 6};
  Safetensors content;
  content.tensors.emplace("g", view_of(g, {2, 3}));
  content.tensors.emplace("empty", view_of({}, {0, 4}));
  content.metadata.emplace("voices", "[\"\\u00e4\"]");
  const auto bytes = write_safetensors(content);
  REQUIRE(bytes.ok());
  const auto back = read_safetensors(*bytes, "t");
  REQUIRE(back.ok());
  CHECK(back->metadata == content.metadata);
  REQUIRE(back->tensors.size() == 2);
  CHECK(back->tensors.at("g").shape == std::vector<std::int64_t>{2, 3});
  CHECK(to_floats(back->tensors.at("g")) == g);
  CHECK(back->tensors.at("empty").bytes.empty());
  content.tensors.emplace("wrong", view_of(g, {7}));
  CHECK_FALSE(write_safetensors(content).ok());
}

TEST_CASE("half precision is read exactly", "[vits][safetensors]") {
  const std::vector<std::uint16_t> halves{0x3C00, 0xC000, 0x0001, 0x7BFF, 0x8000, 0x3555};
  const TensorView half{DType::kF16, {6}, std::as_bytes(std::span(halves))};
  CHECK(to_floats(half) == std::vector<float>{1, -2, 0x1p-24F, 65504, -0.0F, 0x1.554p-2F});
  const std::vector<std::uint16_t> infinite{0x7C00, 0xFC00, 0x7E00};
  const auto wide = to_floats({DType::kF16, {3}, std::as_bytes(std::span(infinite))});
  CHECK((std::isinf(wide[0]) && std::isinf(wide[1]) && wide[1] < 0 && std::isnan(wide[2])));
  const std::vector<std::uint16_t> brain{0x3F80, 0xC2F7};
  CHECK(to_floats({DType::kBF16, {2}, std::as_bytes(std::span(brain))}) == std::vector<float>{1, -123.5F});
}

TEST_CASE("headers that lie are refused with the tensor's name", "[vits][safetensors]") {
  const std::string data(8, '\0');
  struct Lie {
    std::string header, told;
  };
  const std::vector<Lie> lies{
      {R"({"g":{"dtype":"F32","shape":[2],"data_offsets":[0,12]}})", "outside"},
      {R"({"g":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "does not fit"},
      {R"({"g":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})", "does not fit"},
      {R"({"g":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", "does not fit"},
      {R"({"g":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}})", "not a count"},
      {R"({"g":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "not a count"},
      {R"({"g":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "outside"},
      {R"({"g":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", "not counts"},
      {R"({"g":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", "F99"},
      {R"({"g":{"dtype":"F32","shape":[2]}})", "data_offsets"},
      {R"({"g":{"shape":[2],"data_offsets":[0,8]}})", "dtype"},
      {R"({"g":{"dtype":"F32","data_offsets":[0,8]}})", "shape"},
      {R"({"g":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", "more"},
      {R"({"g":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "belong to no tensor"},
      {R"({"g":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "no tensor covers"},
      {R"({"g":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"h":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "overlap"},
      {R"({"g":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"g":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "twice"},
      {R"({"g":[]})", "not an object"},
      {R"({"__metadata__":{"a":1},"g":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "__metadata__"},
      {R"({"g":{"dtype":"F32","shape":[[[[2]]]],"data_offsets":[0,8]}})", "nested"},
      {"[]", "not a JSON object"},
      {"{", "not a JSON object"},
      {"", "not a JSON object"},
  };
  for (const Lie& lie : lies) {
    INFO(lie.header);
    const auto refused = read(file_of(lie.header, data));
    REQUIRE_FALSE(refused.ok());
    CAPTURE(refused.error().message);
    CHECK(refused.error().status == Status::kFormat);
    CHECK(refused.error().message.find(lie.told) != std::string::npos);
    CHECK(refused.error().message.find("t.safetensors") != std::string::npos);
  }
  CHECK_FALSE(read("").ok());
  CHECK_FALSE(read("1234567").ok());
  std::string huge = file_of("{}", "");
  huge[7] = '\x7F';
  CHECK_FALSE(read(huge).ok());
}

}  // namespace timbre::voice
