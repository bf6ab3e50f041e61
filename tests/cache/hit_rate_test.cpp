// SPDX-License-Identifier: MIT
//
// Hit rates of the policies on recorded and made-up requests.
//
// Goldens are those of libCacheSim 0.3.5 (Python package libcachesim), one request at a time. It refuses an entry that
// is larger than S3-FIFO's small queue; a cache of voices must hold it, so ours does. The golden is met with the
// refusal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cache/ceiling.hpp"
#include "cache/short_form.hpp"
#include "cache/simulated_entries.hpp"
#include "cache/traces.hpp"
#include "cache/workloads.hpp"

namespace timbre::cache {
namespace {

using Requests = std::vector<Request>;
constexpr double kGoldenPoints = 0.3;
constexpr double kAutoPoints = 0.3;

Requests trace(const std::string& name, std::size_t count = std::numeric_limits<std::size_t>::max()) {
  return read_key_trace(TIMBRE_TRACE_FOLDER + name + ".trace.xz", count);
}

HitRate run(PolicyKind kind, std::uint64_t capacity, const Requests& requests,
            std::uint64_t largest = std::numeric_limits<std::uint64_t>::max()) {
  SimulatedCache cache(kind, capacity, largest);
  HitRate rate;
  for (const Request& request : requests) rate.count(cache.request(request.key, request.weight), request.weight);
  return rate;
}

struct Golden {
  std::uint64_t capacity;
  double lru;
  double s3_fifo;
};

void check_goldens(const Requests& requests, const std::vector<Golden>& goldens) {
  for (const Golden& golden : goldens) {
    INFO("capacity " << golden.capacity);
    const double lru = run(PolicyKind::kLru, golden.capacity, requests).percent();
    const double s3_fifo = run(PolicyKind::kS3Fifo, golden.capacity, requests).percent();
    CHECK(lru == Approx(golden.lru).margin(kGoldenPoints).epsilon(0));
    CHECK(s3_fifo == Approx(golden.s3_fifo).margin(kGoldenPoints).epsilon(0));
    CHECK(run(PolicyKind::kAuto, golden.capacity, requests).percent() >= std::max(lru, s3_fifo) - kAutoPoints);
  }
}

}  // namespace

TEST_CASE("product pages hit as often as in libCacheSim", "[cache][policy][trace]") {
  check_goldens(trace("web07"), {{204, 39.15, 43.75}, {2048, 55.66, 58.22}});
}

TEST_CASE("objects of a nightly job hit as often as in libCacheSim", "[cache][policy][trace]") {
  // The goldens belong to the first million: sanitizers see half of the capacities, not half of the requests.
  std::vector<Golden> goldens = {{400, 59.01, 57.08}, {4000, 81.30, 84.35}, {1000, 68.65, 66.26}};
  goldens.resize(short_form("capacities", goldens.size(), 1));
  check_goldens(trace("orm-night", 1'000'000), goldens);
}

TEST_CASE("objects with sizes hit as often as in libCacheSim, and as many bytes", "[cache][policy][trace]") {
  const Requests requests = read_sized_trace(TIMBRE_TRACE_FOLDER "adapt_size.trace.xz");
  struct Sized {
    PolicyKind kind;
    std::uint64_t mib;
    double hits;
    double bytes;
  };
  for (const Sized& golden :
       {Sized{PolicyKind::kLru, 4, 26.23, 29.03}, Sized{PolicyKind::kLru, 32, 35.23, 35.76},
        Sized{PolicyKind::kS3Fifo, 4, 30.24, 30.12}, Sized{PolicyKind::kS3Fifo, 32, 38.61, 37.84}}) {
    const std::uint64_t capacity = golden.mib << 20U;
    const bool refuses = golden.kind == PolicyKind::kS3Fifo;
    const HitRate rate = run(golden.kind, capacity, requests, refuses ? capacity / 10 - 1 : capacity);
    INFO("kind " << static_cast<int>(golden.kind) << ", " << golden.mib << " MiB");
    CHECK(rate.percent() == Approx(golden.hits).margin(kGoldenPoints).epsilon(0));
    CHECK(rate.byte_percent() == Approx(golden.bytes).margin(kGoldenPoints).epsilon(0));
  }
}

TEST_CASE("auto is never much worse than the better of LRU and S3-FIFO", "[cache][policy][auto]") {
  struct Case {
    const char* name;
    Requests (*make)(std::size_t);
    std::uint64_t capacity;
  };
  const std::vector<Case> cases = {{"sessions", session_requests, 200}, {"loop", loop_requests, 10'000},
                                   {"drift", drift_requests, 1000},     {"Zipf", zipf_requests, 200},
                                   {"scans", scan_requests, 1000},      {"flash crowd", flash_requests, 1000},
                                   {"uniform", uniform_requests, 1000}, {"flood", flood_requests, 10'000}};
  const std::size_t count = short_form("workloads", cases.size(), 3);
  for (std::size_t i = 0; i < count; ++i) {
    const Requests requests = cases[i].make(300'000);
    const double lru = run(PolicyKind::kLru, cases[i].capacity, requests).percent();
    const double s3_fifo = run(PolicyKind::kS3Fifo, cases[i].capacity, requests).percent();
    INFO(cases[i].name << ": LRU " << lru << ", S3-FIFO " << s3_fifo);
    CHECK(run(PolicyKind::kAuto, cases[i].capacity, requests).percent() >= std::max(lru, s3_fifo) - kAutoPoints);
  }
}

TEST_CASE("aged LFU follows what plain LFU never forgives", "[cache][policy][lfu]") {
  // Plain LFU of libCacheSim keeps what was popular once: 30.62 and 5.49 percent.
  CHECK(run(PolicyKind::kLfu, 204, trace("web07")).percent() > 30.62 + 5);
  CHECK(run(PolicyKind::kLfu, 400, trace("orm-night", 1'000'000)).percent() > 5.49 + 20);
}

TEST_CASE("one pool of small and large entries needs GDSF", "[cache][policy][gdsf]") {
  const Requests requests = mixed_requests(200'000);
  const std::uint64_t capacity = std::uint64_t{512} << 20U;
  const HitRate gdsf = run(PolicyKind::kGdsf, capacity, requests);
  CHECK(gdsf.percent() > run(PolicyKind::kS3Fifo, capacity, requests).percent() + 15);
  CHECK(gdsf.percent() < sized_ceiling(requests, capacity).percent());
}

TEST_CASE("nobody beats the ceiling", "[cache][policy][belady]") {
  for (const Requests& requests : {trace("web07"), loop_requests(60'000), session_requests(60'000)}) {
    const double most = belady(requests, 500).percent();
    CHECK(most <= sized_ceiling(requests, 500).percent());
    for (const PolicyKind kind :
         {PolicyKind::kLru, PolicyKind::kLfu, PolicyKind::kS3Fifo, PolicyKind::kGdsf, PolicyKind::kAuto}) {
      CHECK(run(kind, 500, requests).percent() < most);
    }
  }
}

TEST_CASE("the ceiling of a loop is what its arithmetic says", "[cache][policy][belady]") {
  // 11 keys in turn, room for 10, bypass allowed: of each round one request misses but for the first, which fills.
  Requests requests;
  for (std::uint64_t i = 0; i < 1100; ++i) requests.push_back({i % 11, 1});
  CHECK(belady(requests, 10).hits == 99 * 10);
  CHECK(belady(requests, 11).hits == 99 * 11);
}

}  // namespace timbre::cache
