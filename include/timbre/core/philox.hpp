// SPDX-License-Identifier: MIT
//
// Noise v1: counter-based random numbers that are bit-equal on every machine and never depend on what was drawn before.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Key = the 64-bit
// seed, low word first. Counter = (index / 4, channel, segment, stage); the four outputs are the four values of one
// block, picked by index % 4. So a value is a function of (seed, stage, segment, channel, index) alone.
//
// Gaussians: the inverse of the normal distribution function at (x + 0.5) / 2^32, by our own polynomials in double,
// within 2e-8 of the true value before the rounding to float. Only +, -, *, / and sqrt are used, each rounded by IEEE
// 754; the build forbids contraction into fused multiply-add (-ffp-contract=off), which would round differently.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace timbre {

/// Stages of the synthesizer that draw noise.
inline constexpr std::uint32_t kDurationNoise = 0;
inline constexpr std::uint32_t kPriorNoise = 1;

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32.
constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::uint64_t key) {
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32U) ^ counter[1] ^ low, static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32U) ^ counter[3] ^ high, static_cast<std::uint32_t>(first)};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return counter;
}

namespace detail {

template <std::size_t n>
constexpr double polynomial(const std::array<double, n>& coefficients, double x) {
  double sum = coefficients[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

/// Natural logarithm of a positive normal number, by the series of artanh around a mantissa in [0.7, 1.42).
inline double logarithm(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52U) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFU) | 0x3FF0000000000000U);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  constexpr std::array<double, 9> kOdd = {2.0,        2.0 / 3.0,  2.0 / 5.0,  2.0 / 7.0, 2.0 / 9.0,
                                          2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0};
  return exponent * 0.6931471805599453 + s * polynomial(kOdd, square);
}

// Least-squares fits on Chebyshev nodes to the inverse normal distribution function (made with scipy.special.ndtri).
// Centre: ndtri(0.5 + q) / q for |q| <= 0.425, in 2 q^2 / 0.425^2 - 1.
inline constexpr std::array<double, 13> kCentre = {
    2.806736256487628,      0.38539012773718995,   0.11648648635166742,  0.044080166258199,     0.018562151275318045,
    0.00824940864443294,    0.003821853352026404,  0.00206221778626935,  0.0010644153502559245, 0.00015240997540329998,
    2.9949179485484466e-05, 0.0003179415283835737, 0.0001794539407605623};
// Tail: -ndtri(p) for p < 0.075, in (sqrt(-2 ln p) - 4.5) / 2.3.
inline constexpr std::array<double, 13> kTail = {3.9440091608652263,     2.4806711975594204,      -0.06834094629662012,
                                                 0.027477199497934354,   -0.011433355379276176,   0.004858147960523465,
                                                 -0.002104156032962357,  0.0009630599605307031,   -0.000431274244635992,
                                                 0.00012843664368344056, -5.6610309258189195e-05, 8.113294088734762e-05,
                                                 -3.807979658684043e-05};

}  // namespace detail

/// The value of a standard normal variable whose distribution function is (x + 0.5) / 2^32.
inline float gaussian_of(std::uint32_t x) {
  const double q = (static_cast<double>(x) + 0.5) / 4294967296.0 - 0.5;
  constexpr double kEdge = 0.425;
  const double distance = q < 0 ? -q : q;
  if (distance <= kEdge) {
    return static_cast<float>(q * detail::polynomial(detail::kCentre, q * q * (2.0 / (kEdge * kEdge)) - 1.0));
  }
  const double t = std::sqrt(-2.0 * detail::logarithm(0.5 - distance));
  const double value = detail::polynomial(detail::kTail, (t - 4.5) / 2.3);
  return static_cast<float>(q < 0 ? -value : value);
}

/// One normal variable. For a run of indices use gaussian_row, which computes each block once.
inline float gaussian(std::uint64_t seed, std::uint32_t stage, std::uint32_t segment, std::uint32_t channel,
                      std::uint32_t index) {
  return gaussian_of(philox4x32({index / 4, channel, segment, stage}, seed)[index % 4]);
}

/// Normal variables of indices first..first+count-1 of one channel.
inline void gaussian_row(std::uint64_t seed, std::uint32_t stage, std::uint32_t segment, std::uint32_t channel,
                         std::uint32_t first, float* out, std::uint32_t count) {
  PhiloxBlock block{};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t index = first + i;
    if (i == 0 || index % 4 == 0) block = philox4x32({index / 4, channel, segment, stage}, seed);
    out[i] = gaussian_of(block[index % 4]);
  }
}

}  // namespace timbre
