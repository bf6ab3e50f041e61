// SPDX-License-Identifier: MIT
//
// ScriptedStore: a store that is slow, fails, or answers only when told to, over a MemoryStore. A double for tests.
//
// Invariants
//   * A load takes what it will answer from the voices at its first pump, so that it may be overtaken by writes before
//     it is done: a late answer, also a late "not found".
//   * What the script says holds for the loads that begin afterwards, but for release().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "store/memory_store.hpp"

namespace timbre::store {

/// Thread safety: all members from any thread.
class ScriptedStore final : public VoiceStore {
 public:
  [[nodiscard]] Result<std::unique_ptr<VoiceLoad>> begin_load(std::string_view id) override;
  [[nodiscard]] Result<Version> put(std::string_view id, voice::VoiceRecord record,
                                    std::optional<Expected> expected = {}) override;
  [[nodiscard]] Result<void> remove(std::string_view id) override;
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                      std::size_t limit) override {
    return voices_.list(prefix, cursor, limit);
  }

  /// What is stored. Writes to it are those of another process: no bank hears of them.
  [[nodiscard]] MemoryStore& voices() { return voices_; }

  /// From its first pump on a load takes so long.
  void set_latency(std::chrono::nanoseconds latency) { latency_ns_.store(latency.count()); }
  /// Loads do not end until release(), whatever time passes.
  void block() { set_blocked(true); }
  /// All blocked loads, and those to come, end by themselves.
  void release() { set_blocked(false); }
  /// The next load that begins and is not answered by an earlier one of these ends with `error`.
  void fail_next_load(Error error);
  /// The next put or remove ends with `error`. @param written  whether it is done all the same, as after a lost answer.
  void fail_next_write(Error error, bool written);

  /// Loads that were begun, and loads whose voice was read.
  [[nodiscard]] std::uint64_t begin_count() const { return begin_count_.load(); }
  [[nodiscard]] std::uint64_t read_count() const { return read_count_.load(); }
  /// Blocks until so many loads have read their voice, or failed to.
  void wait_for_reads(std::uint64_t count);

 private:
  class Load;
  struct WriteFailure {
    Error error;
    bool written;
  };

  void set_blocked(bool blocked);
  [[nodiscard]] Result<StoredVoice> read(std::string_view id);
  [[nodiscard]] std::optional<WriteFailure> next_write_failure();

  MemoryStore voices_;
  std::atomic<std::int64_t> latency_ns_{0};
  std::atomic<std::uint64_t> begin_count_{0};
  std::atomic<std::uint64_t> read_count_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool blocked_ = false;
  std::deque<Error> load_failures_;
  std::deque<WriteFailure> write_failures_;
};

}  // namespace timbre::store
