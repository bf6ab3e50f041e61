// SPDX-License-Identifier: MIT
//
// Background: the engine's thread that sizes the cache, ends loads that nobody waits for, and looks after the store.
//
// Threads this may start: one, which sleeps but for a moment each second (four times a second where others may write to
// the store), unless it is woken.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "capi/voice_tiers.hpp"
#include "speech/executor.hpp"

namespace timbre::capi {

class Background {
 public:
  /// Error: kOutOfMemory when the system gives no thread.
  static Result<std::unique_ptr<Background>> start(std::shared_ptr<VoiceTiers> tiers, const std::string& worker_name);
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// There is work; any thread.
  void wake();
  /// Ends the thread, after a tenth of a second at most. Idempotent.
  void stop();

 private:
  explicit Background(std::shared_ptr<VoiceTiers> tiers) : tiers_(std::move(tiers)) {}
  void run() noexcept;

  std::shared_ptr<VoiceTiers> tiers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool woken_ = false;
  bool stopping_ = false;

  std::unique_ptr<speech::Executor> thread_;  // the last to be made, the first to go
};

}  // namespace timbre::capi
