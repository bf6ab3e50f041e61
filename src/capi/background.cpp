// SPDX-License-Identifier: MIT
#include "capi/background.hpp"

#include <chrono>

namespace timbre::capi {
namespace {

constexpr std::chrono::milliseconds kStretch{50};  // how long stop() may wait
constexpr std::size_t kMaxThreadNameBytes = 15;

}  // namespace

Result<std::unique_ptr<Background>> Background::start(std::shared_ptr<VoiceTiers> tiers,
                                                      const std::string& worker_name) {
  std::unique_ptr<Background> background(new Background(std::move(tiers)));
  speech::Executor::Options options;
  options.thread_name = worker_name.substr(0, kMaxThreadNameBytes - 3) + "-bg";
  Result<std::unique_ptr<speech::Executor>> thread = speech::Executor::start(std::move(options));
  if (!thread) return std::move(thread).error();
  background->thread_ = std::move(*thread);
  background->thread_->post([raw = background.get()] { raw->run(); });
  return background;
}

void Background::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void Background::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_) thread_->stop();
}

void Background::run() noexcept {
  bool has_more = true;  // the first reading is made at once
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!has_more) changed_.wait_for(lock, tiers_->rest(), [this] { return woken_ || stopping_; });
      if (stopping_) return;
      woken_ = false;
    }
    try {
      has_more = tiers_->work(bank::Clock::now() + kStretch);
    } catch (...) {  // out of memory: perhaps not the next time, and nobody waits here
      has_more = false;
    }
  }
}

}  // namespace timbre::capi
