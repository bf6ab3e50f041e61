// SPDX-License-Identifier: MIT
//
// The adapter of SQLite: a connection and its prepared statements. No other file calls what fails there.
//
// Invariants
//   * A connection never checkpoints by itself, neither at a commit nor when it is closed.
//   * What a statement has bound or stands on is let go at the end of its Run.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "timbre/core/result.hpp"

namespace timbre::store {

/// Thread safety: one thread at a time.
class Connection {
 public:
  struct Options {
    std::string path;           ///< absolute
    const char* vfs = nullptr;  ///< null: SQLite's own
    bool may_create = false;
    bool is_read_only = false;
    bool is_immutable = false;  ///< nobody writes it, and there is no log: no file is made beside it
    int busy_ms = 0;            ///< how long other programs' locks are waited for
  };

  /// Errors: kNotFound, kIo, kFormat (no database), kTimeout, kOutOfMemory; each names the path.
  static Result<std::unique_ptr<Connection>> open(const Options& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] sqlite3* get() const { return handle_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }
  void set_busy_ms(int busy_ms) { sqlite3_busy_timeout(handle_, busy_ms); }

  /// One or more statements whose rows nobody wants.
  [[nodiscard]] Result<void> execute(const char* sql);
  /// The last failure. @param what  was being done.
  [[nodiscard]] Error error(std::string_view what) const;

 private:
  explicit Connection(std::string path) : path_(std::move(path)) {}

  std::string path_;
  sqlite3* handle_ = nullptr;
};

/// Thread safety: its connection's.
class Statement {
 public:
  Statement() = default;
  static Result<Statement> make(Connection& connection, const char* sql);

  /// One execution.
  class Run {
   public:
    explicit Run(Statement& statement) : connection_(*statement.connection_), handle_(statement.handle_.get()) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() {
      sqlite3_reset(handle_);
      sqlite3_clear_bindings(handle_);
    }

    // Texts and bytes are not copied: they live as long as the run. Columns begin at 0, parameters at 1.
    Run& bind(int at, std::int64_t value);
    Run& bind(int at, std::string_view text);
    Run& bind_bytes(int at, std::span<const std::byte> bytes);

    /// Whether there is a row.
    [[nodiscard]] Result<bool> step();
    /// Steps to the end.
    [[nodiscard]] Result<void> finish();

    [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(handle_, column); }
    [[nodiscard]] bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
    [[nodiscard]] std::span<const std::byte> bytes(int column) const;
    [[nodiscard]] std::string text(int column) const;

   private:
    Connection& connection_;
    sqlite3_stmt* handle_;
    int bind_code_ = SQLITE_OK;
  };

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };

  Connection* connection_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// A transaction that is rolled back unless it was committed.
class Transaction {
 public:
  /// @param begin  "BEGIN IMMEDIATE" to write, "BEGIN" for one snapshot.
  static Result<Transaction> begin(Connection& connection, const char* begin);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  [[nodiscard]] Result<void> commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace timbre::store
