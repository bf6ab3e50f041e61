// SPDX-License-Identifier: MIT
//
// Made-up requests with fixed seeds, the same on every machine: random words are those of Philox (core/philox.hpp), and
// the rest is integer arithmetic.
//
// Ranks are drawn from Zipf's law with exponent 1: rank k with a probability in proportion to 1 / k. Keys below 2^32
// are the population; keys from 2^32 on are visitors that no other part of a workload asks for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "timbre/core/philox.hpp"

namespace timbre::cache {

struct Request {
  std::uint64_t key = 0;
  std::uint64_t weight = 1;  // bytes, or 1 where sizes do not matter

  bool operator==(const Request&) const = default;
};

/// Random words in a fixed order. Streams of different numbers are independent.
class WordStream {
 public:
  explicit WordStream(std::uint32_t stream) : stream_(stream) {}

  std::uint32_t word() {
    if (next_ % 4 == 0) block_ = philox4x32({static_cast<std::uint32_t>(next_ / 4), 0, 0, stream_}, kSeed);
    return block_[next_++ % 4];
  }
  std::uint64_t wide() { return std::uint64_t{word()} << 32U | word(); }
  /// A number below `end` (< 2^32).
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(std::uint64_t{word()} * end >> 32U); }
  /// True once in `count` times.
  bool one_in(std::uint32_t count) { return below(count) == 0; }

 private:
  static constexpr std::uint64_t kSeed = 20'261'130;
  std::uint32_t stream_;
  std::uint64_t next_ = 0;
  PhiloxBlock block_{};
};

/// Ranks 0 .. count-1 by Zipf's law with exponent 1.
class Zipf {
 public:
  explicit Zipf(std::uint32_t count) : upto_(count) {
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < count; ++rank) upto_[rank] = sum += (std::uint64_t{1} << 40U) / (rank + 1);
  }
  std::uint32_t draw(WordStream& words) const {
    const std::uint64_t point = words.wide() % upto_.back();  // of 2^64: no rank is favoured by more than 2^-20
    return static_cast<std::uint32_t>(std::upper_bound(upto_.begin(), upto_.end(), point) - upto_.begin());
  }

 private:
  std::vector<std::uint64_t> upto_;  // sum of the weights of the ranks up to this one
};

inline constexpr std::uint32_t kPopulation = 100'000;
inline constexpr std::uint64_t kVisitors = std::uint64_t{1} << 32U;

/// A workload's requests, one after another: `next(words, i)` is the key of request i.
template <class Next>
std::vector<Request> make_requests(std::uint32_t stream, std::size_t count, Next next) {
  WordStream words(stream);
  std::vector<Request> requests(count);
  for (std::size_t i = 0; i < count; ++i) requests[i].key = next(words, i);
  return requests;
}

/// Steady popularity.
inline std::vector<Request> zipf_requests(std::size_t count) {
  const Zipf zipf(kPopulation);
  return make_requests(1, count, [&](WordStream& words, std::size_t) { return zipf.draw(words); });
}

/// Zipf, and every 200,000 requests somebody reads 20,000 keys in order: every second request while that lasts.
inline std::vector<Request> scan_requests(std::size_t count) {
  const Zipf zipf(kPopulation);
  std::uint32_t start = 0;
  return make_requests(2, count, [&](WordStream& words, std::size_t i) {
    const std::size_t phase = i % 200'000;
    if (phase == 0) start = words.below(kPopulation);
    if (phase >= 40'000 || i % 2 == 0) return zipf.draw(words);
    return (start + static_cast<std::uint32_t>(phase / 2)) % kPopulation;
  });
}

/// Zipf over ranks whose holders change: every 100,000 requests 400 pairs swap, and 20 keys rise into the first
/// hundred.
inline std::vector<Request> drift_requests(std::size_t count) {
  const Zipf zipf(kPopulation);
  std::vector<std::uint32_t> holder(kPopulation);
  std::iota(holder.begin(), holder.end(), 0U);
  return make_requests(3, count, [&](WordStream& words, std::size_t i) {
    if (i % 100'000 == 99'999) {
      for (int pair = 0; pair < 400; ++pair) {
        const std::uint32_t one = words.below(kPopulation);
        std::swap(holder[one], holder[words.below(kPopulation)]);
      }
      for (int star = 0; star < 20; ++star) {
        const std::uint32_t rank = words.below(100);
        std::swap(holder[rank], holder[words.below(kPopulation)]);
      }
    }
    return holder[zipf.draw(words)];
  });
}

/// 200 conversations at a time, each with one voice and 20 requests in the mean; voices are drawn by Zipf.
inline std::vector<Request> session_requests(std::size_t count) {
  const Zipf zipf(kPopulation);
  std::vector<std::uint32_t> live;
  return make_requests(4, count, [&](WordStream& words, std::size_t) {
    while (live.size() < 200) live.push_back(zipf.draw(words));
    std::uint32_t& session = live[words.below(200)];
    const std::uint32_t key = session;
    if (words.one_in(20)) session = zipf.draw(words);
    return key;
  });
}

/// Zipf; in the middle fifth, half of all requests are for one key that nobody knew before.
inline std::vector<Request> flash_requests(std::size_t count) {
  const Zipf zipf(kPopulation);
  return make_requests(5, count, [&](WordStream& words, std::size_t i) -> std::uint64_t {
    const bool flash = i >= count / 5 * 2 && i < count / 5 * 3 && words.one_in(2);
    return flash ? kVisitors : zipf.draw(words);
  });
}

/// 11,000 keys in order, again and again.
inline std::vector<Request> loop_requests(std::size_t count) {
  return make_requests(6, count, [](WordStream&, std::size_t i) { return i % 11'000; });
}

/// No key likelier than another.
inline std::vector<Request> uniform_requests(std::size_t count) {
  return make_requests(7, count, [](WordStream& words, std::size_t) { return words.below(kPopulation); });
}

/// Zipf; in the middle half, every second request is for a key that never comes again.
inline std::vector<Request> flood_requests(std::size_t count) {
  const Zipf zipf(kPopulation);
  return make_requests(8, count, [&](WordStream& words, std::size_t i) -> std::uint64_t {
    const bool flood = i >= count / 4 && i < count / 4 * 3 && i % 2 == 0;
    return flood ? kVisitors + i : zipf.draw(words);
  });
}

/// The drifting requests with sizes: of 20 keys 19 weigh 1,280 bytes, one from 0.5 to 10 MiB.
inline std::vector<Request> mixed_requests(std::size_t count) {
  std::vector<Request> requests = drift_requests(count);
  for (Request& request : requests) {
    WordStream words(static_cast<std::uint32_t>(1000 + request.key));
    constexpr std::uint32_t kHalfMib = 512 * 1024;
    request.weight = words.one_in(20) ? kHalfMib + words.below(19 * kHalfMib) : 1280;
  }
  return requests;
}

}  // namespace timbre::cache
