// SPDX-License-Identifier: MIT
#include "speech/executor.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cfenv>
#include <csignal>
#include <future>

using timbre::speech::Executor;

namespace {

std::unique_ptr<Executor> start(Executor::Options options = {}) {
  auto started = Executor::start(std::move(options));
  REQUIRE(started);
  return std::move(*started);
}

/// What a job on the worker gives.
template <typename Function>
auto on_worker(Executor& executor, Function function) {
  std::promise<decltype(function())> result;
  REQUIRE(executor.post([&] { result.set_value(function()); }));
  return result.get_future().get();
}

}  // namespace

TEST_CASE("jobs run in the order in which they were posted", "[speech][executor]") {
  auto executor = start();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) executor->post([&order, i] { order.push_back(i); });
  on_worker(*executor, [] { return 0; });
  REQUIRE(order.size() == 100);
  REQUIRE(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("stop drops what is queued and refuses what comes later", "[speech][executor]") {
  auto executor = start();
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<int> ran{0};
  executor->post([&] {
    begun.set_value();
    go_on.get_future().wait();
    ++ran;
  });
  for (int i = 0; i < 10; ++i) executor->post([&] { ++ran; });
  begun.get_future().wait();
  std::thread stopper([&] { executor->stop(); });
  while (executor->post([] {})) std::this_thread::yield();
  go_on.set_value();
  stopper.join();
  REQUIRE(ran == 1);
  REQUIRE(!executor->post([] {}));
  executor->stop();
}

TEST_CASE("the worker has its name, blocks signals and starts with the default floating-point state",
          "[speech][executor]") {
  std::fesetround(FE_DOWNWARD);
  auto executor = start({"npc voices", {}, {}, {}});
  std::fesetround(FE_TONEAREST);
  char name[32] = {};
  sigset_t blocked;
  const int rounding = on_worker(*executor, [&] {
    pthread_getname_np(pthread_self(), name, sizeof name);
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return std::fegetround();
  });
  REQUIRE(std::string(name) == "npc voices");
  REQUIRE(rounding == FE_TONEAREST);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) REQUIRE(sigismember(&blocked, signal) == 1);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  REQUIRE(sigismember(&own, SIGINT) == 0);
}

TEST_CASE("a refused wish is told, not fatal", "[speech][executor]") {
  std::promise<std::string> told;
  Executor::Options options;
  options.affinity = std::uint64_t{1} << 63U;  // a core that this machine does not have
  options.warning = [&](std::string line) { told.set_value(std::move(line)); };
  auto executor = start(std::move(options));
  REQUIRE(told.get_future().get().find("affinity") != std::string::npos);
  REQUIRE(on_worker(*executor, [] { return 7; }) == 7);
}

TEST_CASE("of the jobs that wait, the one due first runs first", "[speech][executor]") {
  auto executor = start();
  std::promise<void> go_on;
  executor->post([&] { go_on.get_future().wait(); });
  std::vector<int> order;
  const auto now = Executor::Clock::now();
  for (const int due : {5, 1, 3, 2, 4, 1}) {
    executor->post([&order, due] { order.push_back(due); }, now + std::chrono::hours(due));
  }
  go_on.set_value();
  std::promise<void> last;
  executor->post([&] { last.set_value(); }, now + std::chrono::hours(6));
  last.get_future().wait();
  REQUIRE(order == std::vector<int>{1, 1, 2, 3, 4, 5});
}

TEST_CASE("jobs that may, run side by side where there is one for each lane, and no other job beside them",
          "[speech][executor]") {
  auto executor = start();
  on_worker(*executor, [&] {
    executor->share(2, [](const std::function<void()>& lane) {
      std::thread second(lane);
      lane();
      second.join();
    });
    return 0;
  });
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<bool> disturbed{false};
  std::atomic<int> left{300};
  std::promise<void> done;
  const auto work = [&](bool alone) {
    const int now = ++running;
    most = std::max(most.load(), now);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (alone && running != 1) disturbed = true;
    --running;
    if (--left == 0) done.set_value();
  };
  std::promise<void> go_on;
  executor->post([&] { go_on.get_future().wait(); });
  for (int i = 0; i < 300; ++i) {
    const bool alone = i % 50 == 0;
    executor->post([&work, alone] { work(alone); }, Executor::Clock::now(),
                   alone ? Executor::Company::kAlone : Executor::Company::kSideBySide);
  }
  go_on.set_value();
  done.get_future().wait();
  REQUIRE(most == 2);
  REQUIRE(!disturbed);
}
