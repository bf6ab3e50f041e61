// SPDX-License-Identifier: MIT
//
// ChangeWatcher: what other stores have written to a library. docs/store.md, "Several processes".
//
// Invariant: each change by another writer is told once, or "everything" is.
#pragma once

#include <memory>
#include <mutex>

#include "store/sqlite_library.hpp"

namespace timbre::store {

/// Thread safety: all members from any thread.
class ChangeWatcher {
 public:
  /// Changes count from now on.
  /// @param connection  its own. @param writer  whose changes are not told.
  static Result<std::unique_ptr<ChangeWatcher>> make(std::unique_ptr<Connection> connection, std::int64_t writer);

  /// After an error the next call tells the same changes.
  [[nodiscard]] Result<Changes> look();

 private:
  struct State {
    std::int64_t sequence = 0;
    std::int64_t trimmed = 0;
  };

  ChangeWatcher(std::unique_ptr<Connection> connection, std::int64_t writer)
      : connection_(std::move(connection)), writer_(writer) {}
  [[nodiscard]] Result<std::int64_t> data_version();
  [[nodiscard]] Result<State> state();
  [[nodiscard]] Result<Changes> read(const State& now);

  std::mutex mutex_;
  // Guarded by mutex_.
  std::unique_ptr<Connection> connection_;
  std::int64_t writer_;
  Statement data_version_, state_, changes_;
  std::int64_t last_data_version_ = 0;
  std::int64_t last_sequence_ = 0;
};

}  // namespace timbre::store
