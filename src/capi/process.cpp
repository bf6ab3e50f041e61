// SPDX-License-Identifier: MIT
#include "capi/process.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace timbre::capi {
namespace {

std::atomic<bool> g_forked{false};

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<StopAtExit>> engines;  // guarded by mutex
};

/// Never destroyed: it is used by exit handlers.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

void in_forked_child() { g_forked.store(true, std::memory_order_relaxed); }

void at_exit() {
  if (forked()) return;
  std::vector<std::weak_ptr<StopAtExit>> engines;
  {
    const std::lock_guard lock(registry().mutex);
    engines = registry().engines;
  }
  for (const std::weak_ptr<StopAtExit>& weak : engines) {
    if (const std::shared_ptr<StopAtExit> engine = weak.lock()) engine->stop_at_exit();
  }
}

}  // namespace

bool forked() noexcept { return g_forked.load(std::memory_order_relaxed); }

void stop_at_exit(const std::shared_ptr<StopAtExit>& engine) {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, in_forked_child);
    std::atexit(at_exit);
  });
  const std::lock_guard lock(registry().mutex);
  std::erase_if(registry().engines, [](const std::weak_ptr<StopAtExit>& weak) { return weak.expired(); });
  registry().engines.push_back(engine);
}

void renew_exit_handler() { std::atexit(at_exit); }

}  // namespace timbre::capi
