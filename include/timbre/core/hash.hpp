// SPDX-License-Identifier: MIT
//
// A 64-bit hash of short strings, for tables in memory.
//
// Sixteen bytes at a time are folded by one 64 x 64 -> 128 bit multiplication whose halves are combined, the principle
// of the wyhash family. Not a fingerprint: values differ between versions and byte orders and are never stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace timbre {
namespace detail {

__extension__ typedef unsigned __int128 Product;

/// The halves of a * b, combined.
inline std::uint64_t multiply_fold(std::uint64_t a, std::uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

template <typename Word>
std::uint64_t load_word(const char* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Odd, with half of their bits set, taken from the fractional part of the square roots of 2, 3 and 5.
inline constexpr std::uint64_t kFirst = 0x6A09E667F3BCC909U;
inline constexpr std::uint64_t kSecond = 0xBB67AE8584CAA73BU;
inline constexpr std::uint64_t kThird = 0x3C6EF372FE94F82BU;

}  // namespace detail

/// @param seed  makes the order of a table unpredictable to whoever chooses the strings.
inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t state = seed ^ detail::multiply_fold(seed ^ detail::kFirst, bytes.size() ^ detail::kSecond);
  for (; left > 16; left -= 16, at += 16) {
    state = detail::multiply_fold(detail::load_word<std::uint64_t>(at) ^ detail::kSecond,
                                  detail::load_word<std::uint64_t>(at + 8) ^ state);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = detail::load_word<std::uint64_t>(at);
    high = detail::load_word<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    low = detail::load_word<std::uint32_t>(at);
    high = detail::load_word<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    low = detail::load_word<std::uint8_t>(at);
    high = detail::load_word<std::uint8_t>(at + left / 2) << 8U | detail::load_word<std::uint8_t>(at + left - 1);
  }
  const std::uint64_t folded = detail::multiply_fold(low ^ detail::kSecond, high ^ state);
  return detail::multiply_fold(folded ^ detail::kThird, state ^ bytes.size());
}

}  // namespace timbre
