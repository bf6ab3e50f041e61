// SPDX-License-Identifier: MIT
//
// SpeechStream: an utterance between the worker that makes its samples and the one reader who takes them.
//
// States (docs/speech.md): queued -> running -> queued | parked | ended. A parked stream's buffer is full; it holds
// neither a worker nor a lock, and the reader who makes room queues it again.
//
// Invariants
//   * Each sample is delivered once, in order; the end carries no data.
//   * The status that ended a stream is told again to every later read.
//   * At most ring_samples plus one step's samples are kept.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "speech/executor.hpp"
#include "speech/utterance.hpp"

namespace timbre::speech {

/// Times of a stream in microseconds since it was opened; empty = has not happened yet.
struct StreamTimes {
  std::optional<std::uint64_t> queue_us;
  std::optional<std::uint64_t> first_audio_us;
  std::optional<std::uint64_t> total_us;
  std::uint64_t read_wait_us = 0;
};

/// What is known of a stream now.
struct StreamSnapshot {
  Progress progress;
  StreamTimes times;
  std::uint64_t samples_ready = 0;
  std::uint64_t samples_read = 0;
  std::optional<std::uint64_t> samples_total;
  std::uint64_t mark_count = 0;
  Status state = Status::kPending;  ///< kPending, kDone (synthesised in full), or what ended it
};

class SpeechStream : public std::enable_shared_from_this<SpeechStream> {
 public:
  /// `executor` outlives every call but cancel() and the getters.
  SpeechStream(Executor& executor, std::unique_ptr<Utterance> utterance, std::uint64_t ring_samples);

  /// Queues the first step. Once.
  void start();

  /// Copies up to out.size() samples. kOk with a count; kDone with 0; kTimeout when `timeout` passes first (nullopt =
  /// no limit, 0 = kPending instead); or the error that ended the stream.
  Result<std::size_t> read(std::span<float> out, std::optional<std::chrono::milliseconds> timeout, Status& status);

  /// Ends the stream; readers get kCancelled. Any thread; idempotent; a stream that has ended in an error keeps it.
  void cancel();

  [[nodiscard]] StreamSnapshot snapshot() const;
  /// Copies marks [first, first + limit).
  [[nodiscard]] std::vector<Mark> marks(std::uint64_t first, std::uint64_t limit) const;
  /// Copies chunks [first, first + limit).
  [[nodiscard]] std::vector<Chunk> chunks(std::uint64_t first, std::uint64_t limit) const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kQueued, kRunning, kParked, kEnded };

  void run_step();
  void queue();
  [[nodiscard]] Clock::time_point due() const;
  bool take(Result<StepOutput> result);
  void end(Error error);
  [[nodiscard]] std::uint64_t since_open() const;

  Executor& executor_;
  const std::uint64_t ring_samples_;
  const double rate_hz_;
  const Executor::Company company_;
  const Clock::time_point opened_ = Clock::now();
  std::unique_ptr<Utterance> utterance_;  // touched by the one running step only
  std::atomic<bool> cancelled_{false};    // relaxed: only shortens a step; the state below decides

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  // Guarded by mutex_.
  State state_ = State::kQueued;
  std::optional<Error> error_;
  bool done_ = false;
  std::deque<float> buffer_;
  std::uint64_t produced_ = 0;
  std::uint64_t read_ = 0;
  std::vector<Mark> marks_;
  std::vector<Chunk> chunks_;
  Progress progress_;
  StreamTimes times_;
};

}  // namespace timbre::speech
