// SPDX-License-Identifier: MIT
//
// SqliteStore: a library of voices on disk, for several threads and processes. docs/store.md tells how.
//
// Invariants
//   * A put that has returned is there after a crash of the process or the machine; one that has failed before its
//     commit has changed nothing.
//   * Every load checks all bytes. Damaged voices are told, counted and never given; the others stay usable.
//   * It has no thread: changes() and maintain() are for whoever has one.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/change_watcher.hpp"
#include "store/sqlite_reader.hpp"
#include "store/sqlite_writer.hpp"
#include "store/voice_store.hpp"

namespace timbre::store {

struct SqliteStats {
  bool is_read_only = false;
  std::uint64_t log_bytes = 0;
  bool log_over_limit = false;  ///< a reader keeps the log from being emptied
  std::uint64_t checkpoints = 0;
  std::uint64_t damaged_loads = 0;     ///< loads that found damage
  std::uint64_t pending_erasures = 0;  ///< removals whose bytes are still in the log
  std::uint64_t swept_files = 0;
  std::uint64_t busy_timeouts = 0;  ///< writes that waited in vain
};

/// What check() found.
struct LibraryReport {
  std::uint64_t voices = 0;                                  ///< that were read
  std::vector<std::pair<std::string, std::string>> damaged;  ///< id and reason
  std::vector<std::string> database;                         ///< SQLite's own complaints, at most 100
};

/// Called now and then by long work with what is done and what there is in all; false ends the work as kCancelled.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t all)>;

/// Thread safety: all members from any thread.
class SqliteStore final : public VoiceStore {
 public:
  /// Makes the library if it is not there. What cannot be written is opened for reading. Errors: kNotFound, kIo,
  /// kFormat (another kind of file), kUnsupported (of a later version), kTimeout.
  static Result<std::unique_ptr<SqliteStore>> open(const SqliteOptions& options);
  ~SqliteStore() override;

  [[nodiscard]] Result<std::unique_ptr<VoiceLoad>> begin_load(std::string_view id) override;
  [[nodiscard]] Result<Version> put(std::string_view id, voice::VoiceRecord record,
                                    std::optional<Expected> expected = {}) override;
  [[nodiscard]] Result<void> remove(std::string_view id) override;
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                      std::size_t limit) override;
  [[nodiscard]] bool is_shared() const override { return true; }
  [[nodiscard]] Result<Changes> changes() override { return watcher_->look(); }
  [[nodiscard]] Result<void> maintain() override;
  [[nodiscard]] Result<void> add_uses(std::span<const UseCount> uses) override;
  [[nodiscard]] Result<std::vector<UseCount>> most_used(std::size_t limit) override;

  /// Puts them all in one transaction, whatever is there; all or none.
  [[nodiscard]] Result<std::vector<Version>> put_all(
      std::span<const std::pair<std::string, voice::VoiceRecord>> voices);

  /// Copies the library as it is at one moment, blobs included, to a new one, while others write on. Error: kConflict
  /// where `path` is there; kIo; kCancelled.
  [[nodiscard]] Result<void> backup(const std::string& path, const Progress& progress = {});
  /// Reads everything, and quarantines what is damaged.
  [[nodiscard]] Result<LibraryReport> check(const Progress& progress = {});
  /// Erases files that no row names. @return how many.
  [[nodiscard]] Result<std::uint64_t> sweep();

  [[nodiscard]] SqliteStats stats() const;
  [[nodiscard]] const LibraryPaths& paths() const { return paths_; }

 private:
  class Load;
  using Clock = std::chrono::steady_clock;

  explicit SqliteStore(const SqliteOptions& options);
  [[nodiscard]] Result<void> open_for_writing();
  [[nodiscard]] Result<void> open_for_reading();
  [[nodiscard]] Result<void> watch();
  [[nodiscard]] Result<WriteLock::Hold> begin_write();
  /// For what can be done later: waits for a moment only.
  [[nodiscard]] Result<WriteLock::Hold> begin_care();
  [[nodiscard]] Result<std::vector<Version>> put_encoded(std::span<const std::string_view> ids,
                                                         std::span<const voice::EncodedRecord> records,
                                                         std::optional<Expected> expected);
  [[nodiscard]] Result<StoredVoice> load(std::string_view id);
  void quarantine(std::string_view id, std::uint64_t sequence, std::string_view reason);
  [[nodiscard]] Result<void> erase_log();
  [[nodiscard]] Result<void> trim();
  [[nodiscard]] Result<void> copy_to(const std::string& path, const Progress& progress);
  [[nodiscard]] Result<void> check_rows(LibraryReport& report, const Progress& progress);

  SqliteOptions options_;
  LibraryPaths paths_;
  std::int64_t writer_number_;
  BlobFiles blobs_;
  std::unique_ptr<WriteLock> lock_;       // none: read-only
  std::unique_ptr<SqliteWriter> writer_;  // under lock_
  std::unique_ptr<ReaderPool> readers_;
  std::unique_ptr<ChangeWatcher> watcher_;

  std::atomic<std::uint64_t> damaged_loads_{0};
  std::atomic<std::uint64_t> pending_erasures_{0};
  std::atomic<std::uint64_t> swept_files_{0};
  std::atomic<std::uint64_t> busy_timeouts_{0};

  std::mutex care_mutex_;
  // Guarded by care_mutex_: when maintain() does what next.
  Clock::time_point next_erasure_{};
  Clock::time_point next_minute_{};
  Clock::time_point next_sweep_{};
  int log_pages_seen_ = 0;
};

}  // namespace timbre::store
