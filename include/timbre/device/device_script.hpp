// SPDX-License-Identifier: MIT
//
// DeviceScript: what goes wrong with a device, told beforehand, so that every failure of a real one can be had on any
// machine: allocations, copies and events that fail, readings of free memory that are slow, impossible or missing.
//
// Without a script nothing goes wrong, and asking costs one relaxed load.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "timbre/core/result.hpp"
#include "timbre/device/device.hpp"

namespace timbre::device {

/// Which calls of one kind fail. Thread safety: all members may be called from any thread.
class FailurePlan {
 public:
  /// The `nth` call from now fails (1 is the next one). May be said for several calls.
  void fail_at(std::uint64_t nth) {
    const std::lock_guard lock(mutex_);
    failing_.insert(calls_ + nth);
    armed_.store(true, std::memory_order_relaxed);
  }

  /// Every `kth` call fails, counted from now; 1 is every call. Replaces what was said before by fail_every().
  void fail_every(std::uint64_t kth) {
    const std::lock_guard lock(mutex_);
    every_ = kth;
    since_ = calls_;
    armed_.store(true, std::memory_order_relaxed);
  }

  /// Nothing fails any more.
  void clear() {
    const std::lock_guard lock(mutex_);
    failing_.clear();
    every_.reset();
    armed_.store(false, std::memory_order_relaxed);
  }

  /// For devices: counts a call and says whether it fails. The flag may be read relaxed: a script that is written while
  /// calls run takes effect with one of them, whichever it is.
  [[nodiscard]] bool next_fails() {
    if (!armed_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard lock(mutex_);
    ++calls_;
    const bool told = failing_.erase(calls_) != 0;
    return told || (every_ && *every_ != 0 && (calls_ - since_) % *every_ == 0);
  }

 private:
  std::atomic<bool> armed_{false};

  std::mutex mutex_;  // guards all below
  std::uint64_t calls_ = 0;
  std::uint64_t since_ = 0;
  std::optional<std::uint64_t> every_;
  std::set<std::uint64_t> failing_;
};

/// What Device::memory() answers. Thread safety: all members may be called from any thread.
class ReadingPlan {
 public:
  using Source = std::function<Result<MemoryReading>()>;

  /// One answer, used once, after those that wait already; it comes after `latency`.
  void push(Result<MemoryReading> answer, std::chrono::nanoseconds latency = std::chrono::nanoseconds(0)) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(answer), latency});
  }

  /// Answers when no pushed answer waits. An empty one brings the device's own accounting back. It is called without a
  /// lock, from whichever threads read.
  void set_source(Source source) {
    const std::lock_guard lock(mutex_);
    source_ = std::move(source);
  }

  /// For devices: the scripted answer, or nothing.
  [[nodiscard]] std::optional<Result<MemoryReading>> next() {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) {
      const Source source = source_;
      lock.unlock();
      if (!source) return std::nullopt;
      return source();
    }
    Late late = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (late.latency.count() > 0) std::this_thread::sleep_for(late.latency);
    return std::move(late.answer);
  }

 private:
  struct Late {
    Result<MemoryReading> answer;
    std::chrono::nanoseconds latency;
  };

  std::mutex mutex_;  // guards all below
  std::deque<Late> waiting_;
  Source source_;
};

/// All plans of one device.
struct DeviceScript {
  FailurePlan allocations;  ///< allocate() answers kOutOfMemory
  FailurePlan copies;       ///< upload(), download() and copy() answer kIo and do nothing
  FailurePlan events;       ///< record() and order_after() answer kIo and do nothing
  ReadingPlan readings;     ///< memory()
};

}  // namespace timbre::device
