// SPDX-License-Identifier: MIT
//
// The voice cache beside RocksDB's HyperClockCache and LRUCache and a list with a map and a mutex, all in one process.
//
//   hit/CACHE/ENTRIES/ID_BYTES      lookup and release; requests are Zipf 1.0 and always hit
//   read/...                        also reads the first word of the row
//   batch/...                       1,000 ids: all looked up, then all released
//   insert_evict/...                a new id into a full cache
//   put_again/...                   a new version of an id that is there
//   fill/...                        from nothing to ENTRIES
//   memory/...                      bytes for each entry beside id and row, when a cache has grown by doubling to
//   ENTRIES
//                                   and has then evicted as many again: what its RSS says and what it says itself
//
// Google Benchmark's real time is wall time by operations of all threads; scripts/cache-bench makes a table of it. The
// caches stay for the whole process, so that rounds can be interleaved: about 7 GB for all of them.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "caches.hpp"
#include "id_list.hpp"
#include "resident.hpp"

namespace timbre::bench {
namespace {

constexpr std::uint32_t kLarge = 1000000;
constexpr std::size_t kBatch = 1000;

template <typename Cache>
void put_again(benchmark::State& state, Resident<Cache>& resident) {
  Cache& cache = resident.cache();
  const IdList& requests = resident.workload().requests;
  const Row row = row_of(1);
  std::size_t at = 0;
  bool done = true;
  for (auto _ : state) {
    done = cache.put(requests[at], row) && done;
    if (++at == requests.size()) at = 0;
  }
  if (!done) state.SkipWithError("a put failed");
}

/// A full cache, and four times as many ids as it holds, which come round and round: when one does, it has long gone.
template <typename Cache>
class Full {
 public:
  Full(std::shared_ptr<Lazy<IdList>> ids, std::uint32_t entries) : shared_ids_(std::move(ids)), entries_(entries) {}

  bool put_next(const Row& row) {
    const bool done = cache_->put((*ids_)[at_], row);
    if (++at_ == ids_->size()) at_ = 0;
    return done;
  }
  void fill() {
    ids_ =
        &shared_ids_->get([this] { return std::make_unique<IdList>(consecutive(0, std::size_t{entries_} * 4), 16); });
    cache_.get([this] {
      auto made = std::make_unique<Cache>(entries_);
      put_all(*made, *ids_);
      return made;
    });
  }

 private:
  std::shared_ptr<Lazy<IdList>> shared_ids_;
  std::uint32_t entries_;
  IdList* ids_ = nullptr;
  Lazy<Cache> cache_;
  std::size_t at_ = 0;
};

template <typename Cache>
void insert_evict(benchmark::State& state, Full<Cache>& full) {
  full.fill();
  const Row row = row_of(1);
  bool done = true;
  for (auto _ : state) done = full.put_next(row) && done;
  if (!done) state.SkipWithError("a put failed");
}

template <typename Cache>
void fill(benchmark::State& state, std::uint32_t entries) {
  const IdList ids(consecutive(0, entries), 16);
  for (auto _ : state) {
    auto cache = std::make_unique<Cache>(entries + entries / 8);
    if (!put_all(*cache, ids)) state.SkipWithError("a put failed");
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
}

/// Bytes of this process that are in memory.
double resident_bytes() {
  std::ifstream status("/proc/self/statm");
  double pages = 0;
  status >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

template <typename Cache>
void memory(benchmark::State& state, std::uint32_t entries, std::size_t id_bytes) {
  constexpr std::uint32_t kDoublings = 6;
  const IdList ids(consecutive(0, std::size_t{entries} * 4), id_bytes);
  for (auto _ : state) {
    malloc_trim(0);
    const double before = resident_bytes();
    Cache cache(entries);
    std::size_t next = 0;
    bool done = true;
    for (std::uint32_t step = 0; step <= kDoublings; ++step) {
      const std::uint32_t capacity = entries >> (kDoublings - step);
      cache.set_capacity(capacity);
      // A quarter more than there is room for; in the end as many again.
      const std::size_t end = next + capacity + (step < kDoublings ? capacity / 4 : capacity);
      for (; next < end; ++next) done = cache.put(ids[next], row_of(next)) && done;
    }
    if (!done) state.SkipWithError("a put failed");
    const auto held = static_cast<double>(cache.entries());
    state.counters["entries"] = held;
    state.counters["rss_bytes"] = (resident_bytes() - before) / held - static_cast<double>(kRowBytes + id_bytes);
    if constexpr (requires { cache.own_bytes(); }) {
      state.counters["own_bytes"] = static_cast<double>(cache.own_bytes()) / held;
    }
  }
}

/// Everything that needs a cache with all ids in it.
template <typename Cache>
void register_resident(std::shared_ptr<LazyWorkload> workload, std::uint32_t entries, std::size_t id_bytes) {
  const auto resident = std::make_shared<Resident<Cache>>(std::move(workload), entries, id_bytes);
  for (const int threads : {1, 2}) {
    add<Cache>("hit", entries, id_bytes, [resident](benchmark::State& state) {
      hit(state, *resident);
    })->Threads(threads);
  }
  if (id_bytes != 16) return;
  add<Cache>("read", entries, id_bytes, [resident](benchmark::State& state) { read(state, *resident); });
  add<Cache>("batch", entries, id_bytes, [resident](benchmark::State& state) { batch(state, *resident, kBatch); });
}

/// What changes a cache: it has one of its own.
template <typename Cache>
void register_puts(std::shared_ptr<LazyWorkload> workload, std::shared_ptr<Lazy<IdList>> ids, std::uint32_t entries) {
  const auto resident = std::make_shared<Resident<Cache>>(std::move(workload), entries, 16);
  add<Cache>("put_again", entries, 16, [resident](benchmark::State& state) { put_again(state, *resident); });
  const auto full = std::make_shared<Full<Cache>>(std::move(ids), entries);
  add<Cache>("insert_evict", entries, 16, [full](benchmark::State& state) { insert_evict(state, *full); });
}

template <typename Cache>
void register_growth() {
  add<Cache>("fill", kLarge, 16, [](benchmark::State& state) { fill<Cache>(state, kLarge); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
  for (const std::size_t id_bytes : {std::size_t{16}, std::size_t{64}}) {
    if (id_bytes > 16 && !Cache::kTakesLongIds) continue;
    add<Cache>("memory", kLarge, id_bytes,
               [id_bytes](benchmark::State& state) { memory<Cache>(state, kLarge, id_bytes); })
        ->Iterations(1)
        ->Repetitions(1)
        ->Unit(benchmark::kMillisecond);
  }
}

void register_all() {
  for (const std::uint32_t entries : {kSmall, kLarge}) {
    for (const std::size_t id_bytes : {std::size_t{16}, std::size_t{64}}) {
      const auto workload = std::make_shared<LazyWorkload>();
      const auto new_ids = std::make_shared<Lazy<IdList>>();
      for_each_cache([&]<typename Cache>() {
        if (id_bytes > 16 && !Cache::kTakesLongIds) return;
        register_resident<Cache>(workload, entries, id_bytes);
        if (id_bytes == 16) register_puts<Cache>(workload, new_ids, entries);
      });
    }
  }
  for_each_cache([]<typename Cache>() { register_growth<Cache>(); });
}

}  // namespace
}  // namespace timbre::bench

int main(int argc, char** argv) {
  timbre::bench::register_all();
  return timbre::bench::run_benchmarks(argc, argv);
}
