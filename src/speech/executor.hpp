// SPDX-License-Identifier: MIT
//
// Executor: the engine's worker thread and its queue of short jobs.
//
// Threads this may start: one, named Options::thread_name. (A back end that runs OpenMP regions on it adds
// thread_count - 1 helpers of its own.)
//
// Invariants
//   * Jobs run one at a time, in the order in which they were posted.
//   * The worker blocks every signal and has the default floating-point environment, whatever the host has set.
//   * stop() ends after the job that runs; jobs still queued are dropped without being run.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "timbre/core/result.hpp"

namespace timbre::speech {

class Executor {
 public:
  using Job = std::function<void()>;

  struct Options {
    std::string thread_name = "timbre";        ///< at most 15 bytes
    std::optional<std::int32_t> nice;          ///< nice value of the worker
    std::optional<std::uint64_t> affinity;     ///< bit i = core i
    std::function<void(std::string)> warning;  ///< called on the worker when the system refuses nice or affinity
  };

  /// Starts the worker. kOutOfMemory when the system gives no thread.
  static Result<std::unique_ptr<Executor>> start(Options options);
  ~Executor();

  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Queues a job; any thread. False after stop(): the job is dropped.
  bool post(Job job);
  /// Ends the worker. Any thread but the worker; idempotent.
  void stop();

 private:
  explicit Executor(Options options) : options_(std::move(options)) {}
  void run();

  Options options_;
  std::mutex join_mutex_;
  std::thread worker_;  // joined under join_mutex_

  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::deque<Job> jobs_;
  bool stopping_ = false;
};

}  // namespace timbre::speech
