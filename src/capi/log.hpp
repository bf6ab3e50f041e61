// SPDX-License-Identifier: MIT
//
// Log: the engine's lines, kept until a host asks. Nothing is ever printed.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace timbre::capi {

enum class LogLevel : std::int32_t { kInfo = 0, kWarning = 1, kError = 2 };

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};

/// The last 256 lines. Any thread.
class Log {
 public:
  void add(LogLevel level, std::string text) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() == kCapacity) lines_.pop_front();
    lines_.push_back({level, std::move(text)});
  }
  std::optional<LogLine> next() {
    const std::lock_guard lock(mutex_);
    if (lines_.empty()) return std::nullopt;
    LogLine line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  static constexpr std::size_t kCapacity = 256;
  std::mutex mutex_;
  std::deque<LogLine> lines_;  // guarded by mutex_
};

}  // namespace timbre::capi
