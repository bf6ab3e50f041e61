// SPDX-License-Identifier: MIT
//
// Loops of Google Benchmark over a cache that has every id it is asked for, whichever it is (caches.hpp).
//
// Caches stay for the whole process, so that rounds can be interleaved; each is made by the benchmark that needs it
// first.
#pragma once

#include <benchmark/benchmark.h>
#include <rocksdb/version.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caches.hpp"
#include "id_list.hpp"
#include "processor.hpp"

namespace timbre::bench {

inline constexpr std::uint32_t kSmall = 16384;

inline Row row_of(std::uint64_t number) {
  Row row{};
  row.fill(number + 1);
  return row;
}

template <typename Cache>
bool put_all(Cache& cache, const IdList& ids) {
  bool done = true;
  for (std::size_t i = 0; i < ids.size(); ++i) done = cache.put(ids[i], row_of(i)) && done;
  return done;
}

/// Requests and ids of one number of entries and one length, shared by all caches.
struct Workload {
  Workload(std::uint32_t entry_count, std::size_t id_bytes)
      : entries(entry_count),
        ids(consecutive(0, entry_count), id_bytes),
        requests(zipf(entry_count, entry_count > kSmall ? std::size_t{1} << 21U : std::size_t{1} << 18U), id_bytes) {}

  std::uint32_t entries;
  IdList ids;
  IdList requests;
};

/// Made by whoever first asks for it.
template <typename T>
class Lazy {
 public:
  template <typename Make>
  T& get(Make&& make) {
    std::call_once(once_, [&] { value_ = make(); });
    return *value_;
  }
  /// Only after get().
  T* operator->() { return value_.get(); }

 private:
  std::once_flag once_;
  std::unique_ptr<T> value_;
};

using LazyWorkload = Lazy<Workload>;

/// A cache that holds every id of its workload, with an eighth to spare: shards fill unevenly.
template <typename Cache>
class Resident {
 public:
  Resident(std::shared_ptr<LazyWorkload> workload, std::uint32_t entries, std::size_t id_bytes)
      : workload_(std::move(workload)), entries_(entries), id_bytes_(id_bytes) {}

  const Workload& workload() {
    return workload_->get([this] { return std::make_unique<Workload>(entries_, id_bytes_); });
  }
  Cache& cache() {
    return cache_.get([this] {
      auto made = std::make_unique<Cache>(entries_ + entries_ / 8);
      put_all(*made, workload().ids);
      return made;
    });
  }

 private:
  std::shared_ptr<LazyWorkload> workload_;
  std::uint32_t entries_;
  std::size_t id_bytes_;
  Lazy<Cache> cache_;
};

/// Where a thread begins in the requests, so that no two of them ask for the same at the same time.
inline std::size_t first_request(const benchmark::State& state, const IdList& requests) {
  return requests.size() / static_cast<std::size_t>(state.threads()) * static_cast<std::size_t>(state.thread_index());
}

/// @param found  (cache, id) -> whether the id was there
template <typename Cache, typename Found>
void ask(benchmark::State& state, Resident<Cache>& resident, Found found) {
  Cache& cache = resident.cache();
  const IdList& requests = resident.workload().requests;
  std::size_t at = first_request(state, requests);
  std::uint64_t misses = 0;
  for (auto _ : state) {
    misses += found(cache, requests[at]) ? 0 : 1;
    if (++at == requests.size()) at = 0;
  }
  if (misses != 0) state.SkipWithError("a request missed");
}

template <typename Cache>
void hit(benchmark::State& state, Resident<Cache>& resident) {
  ask(state, resident, [](Cache& cache, std::string_view id) { return cache.hit(id); });
}

template <typename Cache>
void read(benchmark::State& state, Resident<Cache>& resident) {
  ask(state, resident, [](Cache& cache, std::string_view id) { return cache.read(id) != 0; });
}

/// `size` ids at a time: all looked up, then all released.
template <typename Cache>
void batch(benchmark::State& state, Resident<Cache>& resident, std::size_t size) {
  Cache& cache = resident.cache();
  const IdList& requests = resident.workload().requests;
  std::vector<std::string_view> views;
  for (std::size_t i = 0; i < requests.size() / size * size; ++i) views.push_back(requests[i]);
  const std::span<const std::string_view> all(views);
  std::size_t at = 0;
  std::uint64_t misses = 0;
  for (auto _ : state) {
    misses += size - cache.batch(all.subspan(at, size));
    at = at + size == all.size() ? 0 : at + size;
  }
  if (misses != 0) state.SkipWithError("a request missed");
}

/// The name by which the tables know a benchmark.
inline std::string title(const char* what, const std::string& cache, std::uint32_t entries, std::size_t id_bytes) {
  return std::string(what) + "/" + cache + "/" + std::to_string(entries) + "/" + std::to_string(id_bytes);
}

template <typename Cache, typename Run>
auto* add(const char* what, std::uint32_t entries, std::size_t id_bytes, Run run) {
  return benchmark::RegisterBenchmark(title(what, Cache::name(), entries, id_bytes).c_str(), run)->UseRealTime();
}

/// What is left of main() when all are registered. @return its status.
inline int run_benchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("instruction_set", instruction_set());
  benchmark::AddCustomContext("rocksdb", std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." +
                                             std::to_string(ROCKSDB_PATCH));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace timbre::bench
