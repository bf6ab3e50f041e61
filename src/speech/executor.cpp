// SPDX-License-Identifier: MIT
#include "speech/executor.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

bool Executor::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void Executor::stop() {
  std::deque<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  wake_.notify_one();
  const std::lock_guard lock(join_mutex_);
  if (worker_.joinable()) worker_.join();
}

void Executor::run() {
  apply(options_);
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace timbre::speech
