// SPDX-License-Identifier: MIT
//
// Writing a voice library: the one connection of a store that writes, and its checkpoints. docs/store.md, "Writes".
//
// Invariants
//   * Every member but make() is called under the write lock, with a Hold as the witness.
//   * What fails before COMMIT has changed nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/blob_files.hpp"
#include "store/sqlite_library.hpp"
#include "store/write_lock.hpp"
#include "voice/record_format.hpp"

namespace timbre::store {

/// A record on its way into the library.
struct NewVoice {
  std::string_view id;
  const voice::EncodedRecord* record = nullptr;
  std::optional<BlobFiles::Unnamed>* file = nullptr;  ///< holds the record's bytes where they are no part of the row
  std::optional<Expected> expected;
};

class SqliteWriter {
 public:
  using Hold = WriteLock::Hold;

  /// @param writer  the number by which other stores tell this one's changes.
  static Result<std::unique_ptr<SqliteWriter>> make(std::unique_ptr<Connection> connection, BlobFiles& blobs,
                                                    std::int64_t writer, int busy_ms);

  /// All of them or none, in one transaction. Errors: kConflict; SQLite's; the files'.
  [[nodiscard]] Result<std::vector<Version>> put(const Hold& hold, std::span<const NewVoice> voices);
  /// kNotFound if there is none.
  [[nodiscard]] Result<void> remove(const Hold& hold, std::string_view id);

  [[nodiscard]] Result<void> add_uses(const Hold& hold, std::span<const UseCount> uses);
  [[nodiscard]] Result<void> add_quarantine(const Hold& hold, std::string_view id, std::uint64_t sequence,
                                            std::string_view reason);
  [[nodiscard]] Result<void> drop_old_changes(const Hold& hold, std::chrono::seconds age);
  [[nodiscard]] Result<std::uint64_t> sweep(const Hold& hold);

  /// Moves the log's pages into the database as far as readers allow.
  [[nodiscard]] Result<void> checkpoint(const Hold& hold);
  /// Empties the log, so that nothing that was removed is left in it. @return false where a reader needs it.
  [[nodiscard]] Result<bool> truncate_log(const Hold& hold);

  /// Any thread.
  [[nodiscard]] std::uint64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }
  [[nodiscard]] int log_pages() const { return log_pages_.load(std::memory_order_relaxed); }

 private:
  SqliteWriter(std::unique_ptr<Connection> connection, BlobFiles& blobs, std::int64_t writer, int busy_ms)
      : connection_(std::move(connection)), blobs_(blobs), writer_(writer), busy_ms_(busy_ms) {}
  [[nodiscard]] Result<void> prepare();

  /// What is there under an id; sequence 0 if nothing is.
  struct There {
    Version version;
    std::vector<std::byte> file;
  };
  [[nodiscard]] Result<There> find(std::string_view id);
  [[nodiscard]] Result<Version> put_one(const NewVoice& voice, std::vector<std::vector<std::byte>>& old_files);
  [[nodiscard]] Result<std::uint64_t> next_sequence();
  [[nodiscard]] Result<void> note_change(std::uint64_t sequence, std::string_view id);
  [[nodiscard]] Result<bool> is_used(std::span<const std::byte> file);
  void erase_unused(std::span<const std::vector<std::byte>> files);
  void checkpoint_if_long(const Hold& hold);

  std::unique_ptr<Connection> connection_;
  BlobFiles& blobs_;
  std::int64_t writer_;
  int busy_ms_;
  Statement find_, count_up_, erase_, insert_, add_change_, trim_changes_, drop_changes_, note_trim_, drop_uses_,
      add_uses_, sum_uses_, halve_uses_, cut_uses_, clear_quarantine_, add_quarantine_, is_used_;
  int checkpointed_pages_ = 0;     // of the log, at the last checkpoint
  std::atomic<int> log_pages_{0};  // after the last commit
  std::atomic<std::uint64_t> checkpoints_{0};
};

}  // namespace timbre::store
