// SPDX-License-Identifier: MIT
//
// WriteLock: one writer of a library at a time, among the threads and processes that use it. docs/store.md, "Writes".
//
// Invariants
//   * It is the process's end that frees it at the latest; nothing is left to clean up.
//   * Who waits is let in before the one who has just been inside comes again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "timbre/core/result.hpp"

namespace timbre::store {

/// Thread safety: all members from any thread.
class WriteLock {
 public:
  using Clock = std::chrono::steady_clock;

  class Hold {
   public:
    Hold(Hold&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (lock_ != nullptr) lock_->free();
    }

   private:
    friend class WriteLock;
    explicit Hold(WriteLock& lock) : lock_(&lock) {}
    WriteLock* lock_;
  };

  /// Makes the file if it is not there. Error: kIo.
  static Result<std::unique_ptr<WriteLock>> open(const std::string& path);
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;
  ~WriteLock();

  /// Errors: kTimeout; kIo.
  [[nodiscard]] Result<Hold> take(Clock::time_point deadline);

 private:
  WriteLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  void free();
  void leave();
  [[nodiscard]] Result<void> take_file(Clock::time_point deadline);

  std::string path_;
  int descriptor_;
  // Threads take turns among themselves before one of them takes the file's lock. A timed mutex would do, but
  // ThreadSanitizer does not see its waits by a steady clock.
  std::mutex mutex_;
  std::condition_variable left_;
  bool is_inside_ = false;   // guarded by mutex_
  bool was_inside_ = false;  // the one's who is inside: no other process has been since
};

}  // namespace timbre::store
