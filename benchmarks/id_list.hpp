// SPDX-License-Identifier: MIT
//
// Ids and the order in which a benchmark asks for them, prepared beforehand: making an id costs more than a hit.
//
// The bytes of a list lie one id after the other, each with a zero behind it as C wants it, so that a walk reads memory
// as a stream and every cache under test pays the same little for it. Which ids are popular has nothing to do with the
// order in which a cache is filled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace timbre::bench {

/// Ids of one length.
class IdList {
 public:
  /// @param numbers   which ids, in their order.
  /// @param id_bytes  at least 16; longer ids have a long common beginning, as paths do.
  IdList(const std::vector<std::uint32_t>& numbers, std::size_t id_bytes) : id_bytes_(id_bytes) {
    const std::string beginning =
        std::string("library/characters/voices-of-the-old-town/recordings/").substr(0, id_bytes - 16);
    bytes_.reserve(numbers.size() * (id_bytes + 1));
    for (const std::uint32_t number : numbers) {
      char digits[17];
      std::snprintf(digits, sizeof digits, "v%015u", number);
      bytes_ += beginning;
      bytes_.append(id_bytes - 16 - beginning.size(), '-');
      bytes_.append(digits, 17);  // with the zero
    }
  }

  /// A zero follows it.
  [[nodiscard]] std::string_view operator[](std::size_t at) const {
    return {bytes_.data() + at * (id_bytes_ + 1), id_bytes_};
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size() / (id_bytes_ + 1); }
  [[nodiscard]] std::size_t id_bytes() const { return id_bytes_; }

 private:
  std::size_t id_bytes_;
  std::string bytes_;
};

/// first, first + 1, ...
inline std::vector<std::uint32_t> consecutive(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Requests for the numbers below `entries`, the k-th most popular one with a probability proportional to 1 / k (Zipf
/// 1.0). The same for the same arguments on every machine.
inline std::vector<std::uint32_t> zipf(std::uint32_t entries, std::size_t count) {
  std::mt19937_64 random(1);
  const auto below = [&random](double limit) { return std::ldexp(static_cast<double>(random() >> 11U), -53) * limit; };
  std::vector<std::uint32_t> by_rank = consecutive(0, entries);
  for (std::uint32_t i = entries; i > 1; --i) std::swap(by_rank[i - 1], by_rank[static_cast<std::size_t>(below(i))]);
  std::vector<double> sums(entries);
  double sum = 0;
  for (std::uint32_t rank = 0; rank < entries; ++rank) sums[rank] = sum += 1.0 / (rank + 1);
  std::vector<std::uint32_t> requests(count);
  for (std::uint32_t& request : requests) {
    const auto rank = std::upper_bound(sums.begin(), sums.end() - 1, below(sum)) - sums.begin();
    request = by_rank[static_cast<std::size_t>(rank)];
  }
  return requests;
}

}  // namespace timbre::bench
