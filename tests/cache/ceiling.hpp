// SPDX-License-Identifier: MIT
//
// What no policy can exceed, computed by looking into the future.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/simulated_entries.hpp"
#include "cache/workloads.hpp"

namespace timbre::cache {

/// For each request, the position of the next one of the same key; the largest number if there is none.
inline std::vector<std::uint64_t> next_requests(const std::vector<Request>& requests) {
  std::vector<std::uint64_t> next(requests.size(), std::numeric_limits<std::uint64_t>::max());
  std::unordered_map<std::uint64_t, std::size_t> seen;
  for (std::size_t i = requests.size(); i-- > 0;) {
    const auto [at, fresh] = seen.try_emplace(requests[i].key, i);
    if (fresh) continue;
    next[i] = at->second;
    at->second = i;
  }
  return next;
}

/// Belady's MIN with bypass: of the keys held and the one that just came, drop the one that is needed last. Exact for
/// entries of weight 1.
inline HitRate belady(const std::vector<Request>& requests, std::uint64_t capacity) {
  const std::vector<std::uint64_t> next = next_requests(requests);
  std::unordered_map<std::uint64_t, std::uint64_t> held;                   // key: when it is needed
  std::priority_queue<std::pair<std::uint64_t, std::uint64_t>> last_need;  // (when, key), stale ones among them
  HitRate rate;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t key = requests[i].key;
    const bool hit = held.find(key) != held.end();
    rate.count(hit, 1);
    held[key] = next[i];
    last_need.emplace(next[i], key);
    while (held.size() > capacity) {
      const auto [when, victim] = last_need.top();
      last_need.pop();
      const auto found = held.find(victim);
      if (found != held.end() && found->second == when) held.erase(found);
    }
  }
  return rate;
}

/// A bound for entries of any weight (PFOO-L of Berger, Beckmann, Harchol-Balter: "Practical bounds on optimal caching
/// with variable object sizes", 2018). To hit, an entry must be held from one request to the next and takes bytes x
/// time; the cache has capacity x time in all; nobody can do better than by paying for the cheapest hits first.
inline HitRate sized_ceiling(const std::vector<Request>& requests, std::uint64_t capacity) {
  const std::vector<std::uint64_t> next = next_requests(requests);
  std::vector<std::pair<double, std::uint64_t>> by_hit;   // price of a hit; its bytes
  std::vector<std::pair<double, std::uint64_t>> by_byte;  // price of a byte; the bytes
  HitRate rate;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    rate.count(false, requests[i].weight);
    if (next[i] >= requests.size() || requests[i].weight > capacity) continue;
    const auto time = static_cast<double>(next[i] - i);
    by_hit.emplace_back(time * static_cast<double>(requests[i].weight), requests[i].weight);
    by_byte.emplace_back(time, requests[i].weight);
  }
  std::sort(by_hit.begin(), by_hit.end());
  std::sort(by_byte.begin(), by_byte.end());
  const double all = static_cast<double>(capacity) * static_cast<double>(requests.size());
  double left = all;
  for (const auto& [price, bytes] : by_hit) {
    if ((left -= price) < 0) break;
    ++rate.hits;
  }
  left = all;
  for (const auto& [price, bytes] : by_byte) {
    if ((left -= price * static_cast<double>(bytes)) < 0) break;
    rate.hit_bytes += bytes;
  }
  return rate;
}

}  // namespace timbre::cache
