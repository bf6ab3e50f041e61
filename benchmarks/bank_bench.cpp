// SPDX-License-Identifier: MIT
//
// The voice bank as a host uses it, through the C ABI of libtimbre.so, beside RocksDB's HyperClockCache and LRUCache
// and a list with a map and a mutex, all in one process; and timbre's cache alone, which the bank stands on.
//
//   hit/CACHE/16384/16    timbre_voice_get + timbre_voice_release, or lookup + release; requests are Zipf 1.0 and hit
//   read/...              also reads the first word of the tensor (timbre_voice_tensor)
//   batch/...             256 ids in timbre_voice_get_batch, or one after the other; then all released
//
// scripts/bank-bench makes a table of it.
#include <benchmark/benchmark.h>
#include <rocksdb/version.h>

#include <memory>
#include <string>

#include "processor.hpp"
#include "resident.hpp"
#include "voice_bank_cache.hpp"

namespace timbre::bench {
namespace {

constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kBatch = 256;

template <typename Cache>
void register_cache(const std::shared_ptr<LazyWorkload>& workload) {
  const auto resident = std::make_shared<Resident<Cache>>(workload, kSmall, kIdBytes);
  for (const int threads : {1, 2}) {
    add<Cache>("hit", kSmall, kIdBytes, [resident](benchmark::State& state) {
      hit(state, *resident);
    })->Threads(threads);
  }
  add<Cache>("read", kSmall, kIdBytes, [resident](benchmark::State& state) { read(state, *resident); });
  add<Cache>("batch", kSmall, kIdBytes, [resident](benchmark::State& state) { batch(state, *resident, kBatch); });
}

}  // namespace
}  // namespace timbre::bench

int main(int argc, char** argv) {
  using namespace timbre::bench;  // NOLINT: this program's own
  const auto workload = std::make_shared<LazyWorkload>();
  register_cache<VoiceBankCache>(workload);
  register_cache<Timbre<timbre::cache::PolicyKind::kAuto>>(workload);
  register_cache<HyperClock>(workload);
  register_cache<RocksLru>(workload);
  register_cache<ListAndMap>(workload);
  return run_benchmarks(argc, argv);
}
