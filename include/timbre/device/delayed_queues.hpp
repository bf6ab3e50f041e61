// SPDX-License-Identifier: MIT
//
// DelayedQueues: the work that a DelayedDevice was given and has not begun, and which piece of it may begin when. Plain
// bookkeeping, no lock, no thread.
//
// A piece of work may begin when it is the first of its stream, the stream is not held, the event that it awaits has
// passed, and its own delay, drawn when it was given, is over. Among several the choice is random.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "timbre/device/delayed_order.hpp"
#include "timbre/device/delayed_runs.hpp"
#include "timbre/device/device.hpp"

namespace timbre::device {

struct DelayedWork {
  enum class Kind : std::uint8_t { kUpload, kDownload, kCopy, kEvent, kWait };
  using Instant = std::chrono::steady_clock::time_point;

  Kind kind = Kind::kEvent;
  Event awaited = Event::kPassed;               // kWait
  std::optional<DelayedRuns::Bytes> to = {};    // kUpload, kCopy
  std::optional<DelayedRuns::Bytes> from = {};  // kDownload, kCopy
  std::uint64_t to_serial = 0;                  // of the runs that hold them
  std::uint64_t from_serial = 0;
  void* host_to = nullptr;                     // kDownload
  std::vector<unsigned char> host_bytes = {};  // kUpload
  Instant due = {};

  void move_bytes() const {
    void* const target = to ? reinterpret_cast<void*>(to->begin) : host_to;
    if (from) {
      std::memcpy(target, reinterpret_cast<const void*>(from->begin), from->count);
    } else if (to) {
      std::memcpy(target, host_bytes.data(), host_bytes.size());
    }
  }

  /// "copy of 64 bytes at 0x7f00 to 0x7f40"
  [[nodiscard]] std::string describe() const {
    if (kind == Kind::kEvent || kind == Kind::kWait) return "event";
    std::string text = kind == Kind::kUpload ? "upload" : kind == Kind::kDownload ? "download" : "copy";
    text += " of " + std::to_string(to ? to->count : from->count) + " bytes";
    if (from) text += " at " + hexadecimal(from->begin);
    if (to) text += " to " + hexadecimal(to->begin);
    return text;
  }

  static std::string hexadecimal(std::uint64_t number) {
    std::string digits;
    do {
      digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
      number /= 16;
    } while (number != 0);
    return "0x" + digits;
  }
};

class DelayedQueues {
 public:
  using Instant = DelayedWork::Instant;

  DelayedQueues(std::uint64_t seed, std::chrono::microseconds max_delay) : random_(seed), max_delay_(max_delay) {}

  void push(std::size_t stream, DelayedWork work) {
    const auto longest = static_cast<std::uint64_t>(std::max<std::int64_t>(max_delay_.count(), 0));
    const std::chrono::microseconds delay(static_cast<std::int64_t>(random_() % (longest + 1)));
    work.due = std::chrono::steady_clock::now() + delay;
    queue(stream).work.push_back(std::move(work));
  }

  void set_held(std::size_t stream, bool is_held) { queue(stream).is_held = is_held; }

  /// A stream whose first piece of work may begin; otherwise `next` is set to when the first delay is over, if the time
  /// alone makes a difference.
  [[nodiscard]] std::optional<std::size_t> ready(const DelayedOrder& order, std::optional<Instant>& next) {
    const Instant now = std::chrono::steady_clock::now();
    ready_.clear();
    next.reset();
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (queues_[i].is_held || queues_[i].work.empty()) continue;
      const DelayedWork& first = queues_[i].work.front();
      if (!order.is_done(first.awaited)) continue;
      if (first.due <= now) {
        ready_.push_back(i);
      } else if (!next || first.due < *next) {
        next = first.due;
      }
    }
    if (ready_.empty()) return std::nullopt;
    return ready_[random_() % ready_.size()];
  }

  [[nodiscard]] DelayedWork pop(std::size_t stream) {
    DelayedWork first = std::move(queues_[stream].work.front());
    queues_[stream].work.pop_front();
    return first;
  }

  /// A held stream that has work.
  [[nodiscard]] std::optional<std::size_t> stuck_stream() const {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (queues_[i].is_held && !queues_[i].work.empty()) return i;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::size_t count() const {
    std::size_t total = 0;
    for (const Queue& queue : queues_) total += queue.work.size();
    return total;
  }

 private:
  struct Queue {
    std::deque<DelayedWork> work;
    bool is_held = false;
  };

  Queue& queue(std::size_t stream) {
    if (queues_.size() <= stream) queues_.resize(stream + 1);
    return queues_[stream];
  }

  std::mt19937_64 random_;
  std::chrono::microseconds max_delay_;
  std::vector<Queue> queues_;  // by the stream's number
  std::vector<std::size_t> ready_;
};

}  // namespace timbre::device
