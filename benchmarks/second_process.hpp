// SPDX-License-Identifier: MIT
//
// SecondProcess: a process that has as much memory resident as it is told, beside what it began with.
//
// Invariants
//   * It is forked: make it before this process has a thread.
//   * The kernel makes its pages resident, not a touch of ours, so that the count is exact under sanitizers, too.
//   * It ends when nobody gives it orders any more.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "timbre/core/result.hpp"

namespace timbre::bench {

/// Thread safety: hold() from one thread at a time.
class SecondProcess {
 public:
  /// Error: kIo.
  static Result<std::unique_ptr<SecondProcess>> start() {
    std::array<int, 2> orders{};
    std::array<int, 2> answers{};
    if (pipe(orders.data()) != 0) return system_error("pipe");
    if (pipe(answers.data()) != 0) return system_error("pipe");
    const pid_t process = fork();
    if (process < 0) return system_error("fork");
    if (process == 0) {
      close(orders[1]);
      close(answers[0]);
      serve(orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    std::unique_ptr<SecondProcess> made(new SecondProcess(process, orders[1], answers[0]));
    if (Result<void> runs = made->hold(0); !runs) return std::move(runs).error();
    return made;
  }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;
  ~SecondProcess() {
    close(orders_);
    close(answers_);
    waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] std::int64_t number() const { return process_; }

  /// Returns when the memory is resident, or gone. Error: kIo.
  [[nodiscard]] Result<void> hold(std::uint64_t bytes) const {
    std::uint64_t answer = 0;
    if (write(orders_, &bytes, sizeof bytes) != sizeof bytes) return system_error("write to the second process");
    if (read(answers_, &answer, sizeof answer) != sizeof answer || answer != bytes) {
      return Error{Status::kIo, "the second process did not get " + std::to_string(bytes) + " bytes"};
    }
    return {};
  }

 private:
  SecondProcess(pid_t process, int orders, int answers) : process_(process), orders_(orders), answers_(answers) {}

  static Error system_error(const char* what) { return {Status::kIo, std::string(what) + ": " + std::strerror(errno)}; }

  [[noreturn]] static void serve(int orders, int answers) {
    void* held = nullptr;
    std::uint64_t held_bytes = 0;
    std::uint64_t bytes = 0;
    while (read(orders, &bytes, sizeof bytes) == sizeof bytes) {
      if (held != nullptr) munmap(held, held_bytes);
      held = nullptr;
      if (bytes > 0) {
        held = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (held == MAP_FAILED) _exit(1);
      }
      held_bytes = bytes;
      if (write(answers, &bytes, sizeof bytes) != sizeof bytes) _exit(1);
    }
    _exit(0);
  }

  pid_t process_;
  int orders_;
  int answers_;
};

}  // namespace timbre::bench
