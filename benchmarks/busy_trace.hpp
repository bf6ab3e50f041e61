// SPDX-License-Identifier: MIT
//
// The requests of a busy service, and how they are given to its threads, second by second.
//
// Time is the service's own: so many requests are one of its seconds, and the governor's clock goes by it. What the
// second process does and what the governor reads therefore falls on the same requests on every machine, however fast
// it is; loads take real time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace timbre::bench {

inline constexpr std::uint32_t kVoices = 200;
inline constexpr std::uint32_t kSeconds = 300;
inline constexpr std::uint32_t kThreads = 4;

/// 80 % of the requests are for 20 % of the voices. The same on every machine.
inline std::vector<std::uint32_t> busy_trace(std::size_t count) {
  constexpr std::uint32_t kHot = kVoices / 5;
  std::mt19937_64 random(5);
  std::vector<std::uint32_t> requests(count);
  for (std::uint32_t& request : requests) {
    const bool hot = random() % 5 != 0;
    request = static_cast<std::uint32_t>(hot ? random() % kHot : kHot + random() % (kVoices - kHot));
  }
  return requests;
}

/// Where a second of the service begins in its requests.
inline std::size_t first_of(std::uint32_t second, std::size_t requests) { return requests * second / kSeconds; }

/// Serves all requests on kThreads threads. A second's requests are served while `each_second` runs for it; the next
/// second begins when both are done.
inline void play(std::size_t requests, const std::function<void(std::size_t)>& serve,
                 const std::function<void(std::uint32_t)>& each_second,
                 const std::function<void(std::uint32_t)>& second_ended) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> released{0};
  std::atomic<std::size_t> served{0};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < requests; at = next++) {
        for (std::size_t end = released; end <= at; end = released) released.wait(end);
        serve(at);
        ++served;
        served.notify_one();
      }
    });
  }
  for (std::uint32_t second = 0; second < kSeconds; ++second) {
    const std::size_t end = first_of(second + 1, requests);
    released = end;
    released.notify_all();
    each_second(second);
    for (std::size_t done = served; done < end; done = served) served.wait(done);
    second_ended(second);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace timbre::bench
