// SPDX-License-Identifier: MIT
//
// What hits call, counted for one cache after the other (call_count.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "caches.hpp"
#include "call_count.hpp"
#include "id_list.hpp"

namespace timbre::bench {

inline constexpr std::uint32_t kCounted = 16384;  // entries

/// @return how many of all requests hit.
template <typename Cache>
[[gnu::noinline]] std::size_t counted_hits(Cache& cache, const IdList& requests) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) hits += cache.hit(requests[i]) ? 1 : 0;
  return hits;
}

inline void print_count_head() {
  std::printf("| cache | id bytes | hits | allocations | locks |\n|---|---|---|---|---|\n");
}

/// Fills an empty cache with kCounted entries and asks for them: one line of the table. @return whether the counts are
/// what they must be.
template <typename Cache>
bool count(Cache& cache, const IdList& requests) {
  const IdList ids(consecutive(0, kCounted), requests.id_bytes());
  const CallCount begin = call_count();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!cache.put(ids[i], Row{i + 1})) return false;
  }
  if (!cache.hit(ids[0])) return false;  // the first one may make what all others use
  const CallCount filled = call_count();
  const std::size_t hits = counted_hits(cache, requests);
  const CallCount made = call_count() - filled;
  std::printf("| %s | %zu | %zu of %zu | %llu | %llu |\n", Cache::name().c_str(), ids.id_bytes(), hits, requests.size(),
              static_cast<unsigned long long>(made.allocations), static_cast<unsigned long long>(made.locks));
  if (hits != requests.size()) return false;
  // Every put takes a lock but the clock's, and allocates in some cache; the list's hits lock once each.
  const CallCount fill = filled - begin;
  if (Cache::name() == ListAndMap::name()) {
    return made.locks == requests.size() && fill.allocations >= 2 * std::size_t{kCounted};
  }
  if (!Cache::name().starts_with("timbre")) return true;
  // That a put is seen to lock shows that the counting reaches into the library that has the cache.
  return fill.locks >= kCounted && made.allocations == 0 && made.locks == 0;
}

}  // namespace timbre::bench
