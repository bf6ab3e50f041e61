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
#include "hit_count.hpp"
#include "id_list.hpp"

namespace timbre::bench {
namespace {

int run(const std::string& only, std::size_t hits, std::size_t only_id_bytes) {
  bool good = true;
  bool any = false;
  print_count_head();
  for (const std::size_t id_bytes : {std::size_t{16}, std::size_t{64}}) {
    if (only_id_bytes != 0 && only_id_bytes != id_bytes) continue;
    const IdList requests(zipf(kCounted, hits), id_bytes);
    for_each_cache([&]<typename Cache>() {
      if ((!only.empty() && only != Cache::name()) || (id_bytes > 16 && !Cache::kTakesLongIds)) return;
      Cache cache(kCounted + kCounted / 8);
      good = count(cache, requests) && good;
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
