// SPDX-License-Identifier: MIT
//
// Executor: the engine's worker thread and its queue of short jobs.
//
// Threads this may start: one, named Options::thread_name. (A back end that runs OpenMP regions on it adds
// thread_count - 1 helpers of its own.)
//
// A job uses all of the back end's threads, one job after the other. Where as many jobs wait as there are threads, all
// may run side by side, and a back end has offered itself (share()), its threads become lanes instead: each takes jobs
// and runs them alone, which spares small parallel loops their meetings. When a lane finds no job, all come back.
//
// Invariants
//   * The job with the earliest due time goes first; of equal ones the one posted first.
//   * At most one job runs at a time, or one in each lane.
//   * The worker blocks every signal and has the default floating-point environment, whatever the host has set; so have
//     the lanes, which the worker's back end started.
//   * stop() ends after the jobs that run; jobs still queued are dropped without being run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::speech {

class Executor {
 public:
  using Clock = std::chrono::steady_clock;
  using Job = std::function<void()>;
  /// Calls `lane` on every thread of a back end at once and returns when all calls have returned.
  using SideBySide = std::function<void(const std::function<void()>& lane)>;

  enum class Company { kAlone, kSideBySide };

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
  /// @param due      when its result is wanted.
  /// @param company  whether other jobs may run at the same time.
  bool post(Job job, Clock::time_point due = Clock::now(), Company company = Company::kAlone);
  /// Offers a back end's `lanes` threads. On the worker only.
  void share(std::size_t lanes, SideBySide side_by_side) {
    lanes_ = lanes;
    side_by_side_ = std::move(side_by_side);
  }
  /// Ends the worker. Any thread but the worker; idempotent.
  void stop();

 private:
  explicit Executor(Options options) : options_(std::move(options)) {}
  struct Waiting {
    Job job;
    Clock::time_point due;
    std::uint64_t serial = 0;
    Company company = Company::kAlone;
  };

  void run();
  void run_lane();
  [[nodiscard]] Job take_first();
  [[nodiscard]] bool may_share() const;

  Options options_;
  // The worker's own.
  std::size_t lanes_ = 1;
  SideBySide side_by_side_;
  std::mutex join_mutex_;
  std::thread worker_;  // joined under join_mutex_

  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::vector<Waiting> jobs_;  // a heap, the first one due on top
  std::uint64_t posted_ = 0;
  bool lanes_end_ = false;  // a lane has found nothing to do
  bool stopping_ = false;
};

}  // namespace timbre::speech
