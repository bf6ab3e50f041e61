// SPDX-License-Identifier: MIT
//
// Reading a voice library: a connection with its statements, and a few of these for those who read at once.
//
// Invariant: what a load gives has passed every check of docs/store.md; what has not is told as damage of that voice.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/blob_files.hpp"
#include "store/sqlite_library.hpp"

namespace timbre::store {

/// A voice as its row has it.
struct Row {
  Version version;
  std::uint64_t seal = 0;
  std::vector<std::byte> file;  ///< the name of its blob, or nothing
};

/// What came of a load that gave no voice.
struct LoadFailure {
  Error error;
  std::optional<std::uint64_t> damaged;  ///< the sequence of a row whose bytes are not what was put
};

/// Thread safety: one thread at a time.
class SqliteReader {
 public:
  static Result<std::unique_ptr<SqliteReader>> make(std::unique_ptr<Connection> connection);

  [[nodiscard]] std::variant<StoredVoice, LoadFailure> load(std::string_view id, const BlobFiles& blobs);
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                      std::size_t limit);
  [[nodiscard]] Result<std::vector<UseCount>> most_used(std::size_t limit);
  [[nodiscard]] Connection& connection() { return *connection_; }

 private:
  using Loaded = std::variant<StoredVoice, LoadFailure>;
  explicit SqliteReader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  [[nodiscard]] std::optional<Loaded> load_once(std::string_view id, const BlobFiles& blobs, bool is_last);

  std::unique_ptr<Connection> connection_;
  Statement load_;
  Statement list_;
  Statement most_used_;
};

/// Thread safety: all members from any thread.
class ReaderPool {
 public:
  /// A reader that goes back at the end.
  class Lease {
   public:
    Lease(ReaderPool& pool, std::unique_ptr<SqliteReader> reader) : pool_(&pool), reader_(std::move(reader)) {}
    Lease(Lease&&) noexcept = default;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (reader_) pool_->give_back(std::move(reader_));
    }
    SqliteReader* operator->() const { return reader_.get(); }
    SqliteReader& operator*() const { return *reader_; }

   private:
    ReaderPool* pool_;
    std::unique_ptr<SqliteReader> reader_;
  };

  explicit ReaderPool(Connection::Options options) : options_(std::move(options)) {}
  [[nodiscard]] Result<Lease> take();
  [[nodiscard]] const Connection::Options& options() const { return options_; }

 private:
  static constexpr std::size_t kMostIdle = 8;
  void give_back(std::unique_ptr<SqliteReader> reader);

  Connection::Options options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SqliteReader>> idle_;  // guarded by mutex_; the last to come is the first to go
};

}  // namespace timbre::store
