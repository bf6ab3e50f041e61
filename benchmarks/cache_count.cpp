// SPDX-License-Identifier: MIT
//
// What a hit does, counted: allocations and locks for each cache. Ends with 1 where a hit of timbre allocates or takes
// a lock, or where the counting itself is seen not to work.
//
//   cache_count [CACHE [HITS [ID_BYTES]]]      CACHE as in cache_bench, for example "timbre auto"
//
// Instructions for each hit, without noise: valgrind --tool=callgrind --toggle-collect='*counted_hits*' cache_count
// CACHE
#include <cstdio>
#include <cstdlib>
#include <string>

#include "caches.hpp"
#include "call_count.hpp"
#include "id_list.hpp"

namespace timbre::bench {
namespace {

constexpr std::uint32_t kEntries = 16384;

/// Requests from `first` on. @return how many hit.
template <typename Cache>
[[gnu::noinline]] std::size_t counted_hits(Cache& cache, const IdList& requests, std::size_t count) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < count; ++i) hits += cache.hit(requests[i]) ? 1 : 0;
  return hits;
}

/// One line of the table. @return whether the counts are what they must be.
template <typename Cache>
bool count(std::size_t id_bytes, const IdList& requests) {
  const IdList ids(consecutive(0, kEntries), id_bytes);
  Cache cache(kEntries + kEntries / 8);
  const CallCount begin = call_count();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!cache.put(ids[i], Row{i + 1})) return false;
  }
  const CallCount filled = call_count();
  const std::size_t hits = counted_hits(cache, requests, requests.size());
  const CallCount made = call_count() - filled;
  std::printf("| %s | %zu | %zu of %zu | %llu | %llu |\n", Cache::name().c_str(), id_bytes, hits, requests.size(),
              static_cast<unsigned long long>(made.allocations), static_cast<unsigned long long>(made.locks));
  if (hits != requests.size()) return false;
  // Every put takes a lock but the clock's, and allocates in some cache; the list's hits lock once each.
  if (Cache::name() == ListAndMap::name()) {
    return made.locks == requests.size() && (filled - begin).allocations >= 2 * std::size_t{kEntries};
  }
  return !Cache::name().starts_with("timbre") || (made.allocations == 0 && made.locks == 0);
}

int run(const std::string& only, std::size_t hits, std::size_t only_id_bytes) {
  bool good = true;
  bool any = false;
  std::printf("| cache | id bytes | hits | allocations | locks |\n|---|---|---|---|---|\n");
  for (const std::size_t id_bytes : {std::size_t{16}, std::size_t{64}}) {
    if (only_id_bytes != 0 && only_id_bytes != id_bytes) continue;
    const IdList requests(zipf(kEntries, hits), id_bytes);
    for_each_cache([&]<typename Cache>() {
      if ((!only.empty() && only != Cache::name()) || (id_bytes > 16 && !Cache::kTakesLongIds)) return;
      good = count<Cache>(id_bytes, requests) && good;
      any = true;
    });
  }
  if (!any) std::fprintf(stderr, "cache_count: no cache is called '%s' or takes such ids\n", only.c_str());
  if (any && !good) std::fprintf(stderr, "cache_count: a hit allocated, locked or missed, or nothing was counted\n");
  return any && good ? 0 : 1;
}

}  // namespace
}  // namespace timbre::bench

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const std::size_t hits = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  return timbre::bench::run(only, hits, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0);
}
