// SPDX-License-Identifier: MIT
#include "speech/executor.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <csignal>
#include <cstring>
#include <system_error>

namespace timbre::speech {
namespace {

/// Blocks every signal while it lives, so that a thread started meanwhile never runs a host's handler.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

void apply(const Executor::Options& options) {
  std::fesetenv(FE_DFL_ENV);  // also clears flush-to-zero and denormals-are-zero
  pthread_setname_np(pthread_self(), options.thread_name.c_str());
  const auto warn = [&options](const char* what, int error) {
    if (options.warning)
      options.warning(fmt::format("the system refused the worker's {}: {}", what, std::strerror(error)));
  };
  if (options.nice) {
    const auto thread = static_cast<id_t>(syscall(SYS_gettid));
    if (setpriority(PRIO_PROCESS, thread, *options.nice) != 0) warn("nice value", errno);
  }
  if (options.affinity) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int core = 0; core < 64; ++core) {
      if ((*options.affinity >> core & 1U) != 0) CPU_SET(core, &cores);
    }
    if (const int error = pthread_setaffinity_np(pthread_self(), sizeof cores, &cores); error != 0)
      warn("affinity", error);
  }
}

/// Order of the heap.
template <typename Waiting>
bool is_later(const Waiting& a, const Waiting& b) {
  return a.due != b.due ? a.due > b.due : a.serial > b.serial;
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::start(Options options) {
  std::unique_ptr<Executor> executor(new Executor(std::move(options)));
  const SignalsBlocked blocked;
  try {
    executor->worker_ = std::thread([raw = executor.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    return Error{Status::kOutOfMemory, fmt::format("the system gives no thread: {}", error.what())};
  }
  return executor;
}

Executor::~Executor() { stop(); }

bool Executor::post(Job job, Clock::time_point due, Company company) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    jobs_.push_back({std::move(job), due, posted_++, company});
    std::push_heap(jobs_.begin(), jobs_.end(), is_later<Waiting>);
  }
  wake_.notify_one();
  return true;
}

void Executor::stop() {
  std::vector<Waiting> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  wake_.notify_one();
  const std::lock_guard lock(join_mutex_);
  if (worker_.joinable()) worker_.join();
}

/// With mutex_ held and a job there.
Executor::Job Executor::take_first() {
  std::pop_heap(jobs_.begin(), jobs_.end(), is_later<Waiting>);
  Job job = std::move(jobs_.back().job);
  jobs_.pop_back();
  return job;
}

/// With mutex_ held: whether each lane would have a job.
bool Executor::may_share() const {
  if (lanes_ < 2 || jobs_.size() < lanes_) return false;
  const auto shares = [](const Waiting& waiting) { return waiting.company == Company::kSideBySide; };
  return shares(jobs_.front()) && static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), shares)) >= lanes_;
}

void Executor::run() {
  apply(options_);
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      lanes_end_ = false;
      if (!may_share()) job = take_first();
    }
    if (job) {
      job();
    } else {
      side_by_side_([this] { run_lane(); });
    }
  }
}

void Executor::run_lane() {
  while (true) {
    Job job;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || jobs_.empty() || jobs_.front().company == Company::kAlone) lanes_end_ = true;
      if (lanes_end_) return;
      job = take_first();
    }
    job();
  }
}

}  // namespace timbre::speech
