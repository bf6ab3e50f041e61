// SPDX-License-Identifier: MIT
#include "speech/resampler.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using timbre::speech::Resampler;

namespace {

std::vector<float> resample(const std::vector<float>& in, std::uint32_t from_hz, std::uint32_t to_hz,
                            std::size_t piece) {
  auto resampler = Resampler::make(from_hz, to_hz);
  REQUIRE(resampler);
  std::vector<float> out;
  for (std::size_t at = 0; at < in.size(); at += piece) {
    REQUIRE((*resampler)->process(std::span(in).subspan(at, std::min(piece, in.size() - at)), false, out));
  }
  REQUIRE((*resampler)->process({}, true, out));
  return out;
}

}  // namespace

TEST_CASE("a sine keeps its pitch and level at another rate", "[speech][resampler]") {
  constexpr double kHz = 440;
  std::vector<float> in(22'050);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(0.5 * std::sin(2 * M_PI * kHz * static_cast<double>(i) / 22'050));
  const std::vector<float> out = resample(in, 22'050, 48'000, 5000);
  REQUIRE(std::abs(static_cast<double>(out.size()) - 48'000) <= 1);
  for (std::size_t i = 1000; i + 1000 < out.size(); ++i) {
    REQUIRE(std::abs(out[i] - 0.5 * std::sin(2 * M_PI * kHz * static_cast<double>(i) / 48'000)) < 2e-3);
  }
}

TEST_CASE("the same pieces give the same samples, and impossible rates are refused", "[speech][resampler]") {
  std::vector<float> in(10'000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97) / 97.0F;
  REQUIRE(resample(in, 16'000, 44'100, 777) == resample(in, 16'000, 44'100, 777));
  REQUIRE(!Resampler::make(1, 192'000));
}
