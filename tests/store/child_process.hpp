// SPDX-License-Identifier: MIT
//
// Other processes for tests. They are forked while no store is open here, and end without returning.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <utility>

namespace timbre::store::test {

/// Runs `body` in a process of its own.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<int()>& body) : id_(fork()) {
    REQUIRE(id_ >= 0);
    if (id_ != 0) return;
    int code = 99;
    try {
      code = body();
    } catch (...) {  // NOLINT: told by the code
    }
    _exit(code);
  }
  ChildProcess(ChildProcess&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { kill_now(); }

  void kill_now() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    static_cast<void>(wait());
  }
  /// Its exit code, or -1 where a signal ended it.
  int wait() {
    int status = 0;
    if (id_ <= 0 || waitpid(std::exchange(id_, -1), &status, 0) < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_;
};

inline int in_child(const std::function<int()>& body) { return ChildProcess(body).wait(); }

}  // namespace timbre::store::test
