// SPDX-License-Identifier: MIT
//
// What timbre_voice_get and timbre_voice_release of a cached voice call, counted: allocations and locks, those within
// libtimbre.so included. Ends with 1 where there is any, or where the counting itself is seen not to work: a put has to
// allocate and to lock.
//
//   bank_count [HITS [ID_BYTES]]     100,000 hits, ids of 16 and of 64 bytes
//
// Instructions for each hit, without noise: valgrind --tool=callgrind --toggle-collect='*counted_hits*' bank_count
// 100000 16
#include <cstdlib>

#include "hit_count.hpp"
#include "voice_bank_cache.hpp"

namespace timbre::bench {
namespace {

int run(std::size_t hits, std::size_t only_id_bytes) {
  bool good = true;
  print_count_head();
  for (const std::size_t id_bytes : {std::size_t{16}, std::size_t{64}}) {
    if (only_id_bytes != 0 && only_id_bytes != id_bytes) continue;
    const IdList requests(zipf(kCounted, hits), id_bytes);
    VoiceBankCache cache(kCounted, false);
    const CallCount begin = call_count();
    good = count(cache, requests) && good;
    good = (call_count() - begin).allocations >= 2 * std::size_t{kCounted} && good;
  }
  if (!good) std::fprintf(stderr, "bank_count: a hit allocated, locked or missed, or nothing was counted\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace timbre::bench

int main(int argc, char** argv) {
  const std::size_t hits = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  return timbre::bench::run(hits, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
}
