// SPDX-License-Identifier: MIT
//
// Noise v1 against the known answers of Random123 (kat_vectors, philox4x32 10) and against golden values of our own
// Gaussian: a value that changes here changes every voice's samples.
#include "timbre/core/philox.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace timbre {

TEST_CASE("Philox gives the known answers of Random123", "[core][philox]") {
  CHECK(philox4x32({0, 0, 0, 0}, 0) == PhiloxBlock{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  CHECK(philox4x32({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 0xFFFFFFFFFFFFFFFF) ==
        PhiloxBlock{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  CHECK(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, 0x299F31D0A4093822) ==
        PhiloxBlock{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("a Gaussian has the golden bits", "[core][philox]") {
  CHECK(std::bit_cast<std::uint32_t>(gaussian(0U, 0, 0U, 0, 0)) == 0xBE82FA50);
  CHECK(std::bit_cast<std::uint32_t>(gaussian(0U, 0, 0U, 0, 1)) == 0x3F96BB4F);
  CHECK(std::bit_cast<std::uint32_t>(gaussian(0U, 1, 0U, 0, 0)) == 0xBF6B60BD);
  CHECK(std::bit_cast<std::uint32_t>(gaussian(42U, 0, 0U, 1, 7)) == 0x3F86C90E);
  CHECK(std::bit_cast<std::uint32_t>(gaussian(42U, 1, 3U, 191, 1000)) == 0xBF8CB052);
  CHECK(std::bit_cast<std::uint32_t>(gaussian(18446744073709551615U, 1, 4294967295U, 5, 12345)) == 0xBF9F71CD);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0x00000000U)) == 0xC0CAD08D);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0x00000001U)) == 0xC0C55364);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0x12000000U)) == 0xBFBC9A96);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0x7FFFFFFFU)) == 0xAFA06C99);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0x80000000U)) == 0x2FA06C99);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0xC0000000U)) == 0x3F2CAB5C);
  CHECK(std::bit_cast<std::uint32_t>(gaussian_of(0xFFFFFFFFU)) == 0x40CAD08D);
}

TEST_CASE("a Gaussian is the inverse of the normal distribution function", "[core][philox]") {
  double worst = 0;
  for (std::uint64_t x = 0; x < 0x100000000; x += 65521) {
    const double p = (static_cast<double>(x) + 0.5) / 4294967296.0;
    const double z = gaussian_of(static_cast<std::uint32_t>(x));
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979324);
    worst = std::max(worst, std::abs(0.5 * std::erfc(-z / std::sqrt(2.0)) - p) / density);
  }
  CHECK(worst < 1e-6);
  CHECK(gaussian_of(0) == -gaussian_of(0xFFFFFFFF));
  CHECK(std::isfinite(gaussian_of(0)));
  CHECK(std::abs(gaussian_of(0)) < 7);
}

TEST_CASE("a row is its values one by one, wherever it begins and ends", "[core][philox]") {
  std::vector<float> row(11);
  gaussian_row(5, kPriorNoise, 3, 2, 0, row.data(), 11);
  for (std::uint32_t i = 0; i < 11; ++i) CHECK(row[i] == gaussian(5, kPriorNoise, 3, 2, i));
  for (std::uint32_t first = 0; first < 9; ++first) {
    std::vector<float> part(2);
    gaussian_row(5, kPriorNoise, 3, 2, first, part.data(), 2);
    CHECK(part == std::vector<float>(row.begin() + first, row.begin() + first + 2));
  }
}

TEST_CASE("stages, segments, channels and seeds have noise of their own", "[core][philox]") {
  const float base = gaussian(1, kDurationNoise, 0, 0, 0);
  CHECK(base != gaussian(2, kDurationNoise, 0, 0, 0));
  CHECK(base != gaussian(1ULL << 32U | 1U, kDurationNoise, 0, 0, 0));
  CHECK(base != gaussian(1, kPriorNoise, 0, 0, 0));
  CHECK(base != gaussian(1, kDurationNoise, 1, 0, 0));
  CHECK(base != gaussian(1, kDurationNoise, 0, 1, 0));
  CHECK(base != gaussian(1, kDurationNoise, 0, 0, 4));
}

}  // namespace timbre
