// SPDX-License-Identifier: MIT
//
// The tables of a voice library in SQLite (docs/store.md), and what binds a row to its id.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/sqlite_connection.hpp"
#include "store/voice_store.hpp"

namespace timbre::store {

struct SqliteOptions {
  std::string path;
  const char* vfs = nullptr;           ///< null: SQLite's own; tests give another
  int busy_ms = 5000;                  ///< how long a write waits for the others
  std::uint64_t blob_bytes = 100'000;  ///< records of so many bytes and more are files
  std::uint64_t max_pages = 0;         ///< of the database; 0: SQLite's own limit
};

/// Where the parts of a library are.
struct LibraryPaths {
  explicit LibraryPaths(const std::string& path)
      : database(path), log(path + "-wal"), lock(path + "-lock"), blobs(path + "-blobs") {}
  std::string database;
  std::string log;
  std::string lock;
  std::string blobs;
};

/// Makes the tables in an empty database, else checks that they are a voice library's. Errors: kFormat (another kind of
/// database), kUnsupported (of a later version), and SQLite's.
/// @param may_write  false: an empty database is an error.
[[nodiscard]] Result<void> prepare_library(Connection& connection, bool may_write);

/// XXH3-64 over what a row tells of its record.
[[nodiscard]] std::uint64_t seal_of(const Version& version, std::span<const std::byte> file, std::string_view id);

}  // namespace timbre::store
