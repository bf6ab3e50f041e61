// SPDX-License-Identifier: MIT
#include "store/sqlite_library.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

#include "voice/record_format.hpp"

namespace timbre::store {
namespace {

constexpr std::int64_t kApplication = 0x746D6272;  // "tmbr"
constexpr std::int64_t kLibraryVersion = 1;

// Rows come at the end of their table, so that a fill writes pages one after the other.
constexpr const char* kTables = R"(
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK(one = 1), sequence INTEGER NOT NULL, trimmed INTEGER NOT NULL);
INSERT INTO state VALUES(1, 0, 0);
CREATE TABLE voices(sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, checksum INTEGER NOT NULL,
                    seal INTEGER NOT NULL, file BLOB, record BLOB);
CREATE INDEX voice_files ON voices(file) WHERE file IS NOT NULL;
CREATE TABLE changes(sequence INTEGER PRIMARY KEY, writer INTEGER NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL);
CREATE TABLE uses(id TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE quarantine(id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, at INTEGER NOT NULL,
                        reason TEXT NOT NULL) WITHOUT ROWID;
)";

Result<std::int64_t> number_of(Connection& connection, const char* sql) {
  Result<Statement> statement = Statement::make(connection, sql);
  if (!statement) return std::move(statement).error();
  Statement::Run run(*statement);
  Result<bool> row = run.step();
  if (!row) return std::move(row).error();
  return *row ? run.number(0) : 0;
}

Result<void> make_tables(Connection& connection) {
  Result<Transaction> making = Transaction::begin(connection, "BEGIN IMMEDIATE");
  if (!making) return std::move(making).error();
  if (Result<void> made = connection.execute(kTables); !made) return made;
  const std::string marks =
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplication, kLibraryVersion);
  if (Result<void> marked = connection.execute(marks.c_str()); !marked) return marked;
  return making->commit();
}

}  // namespace

Result<void> prepare_library(Connection& connection, bool may_write) {
  Result<std::int64_t> application = number_of(connection, "PRAGMA application_id");
  if (!application) return std::move(application).error();
  Result<std::int64_t> tables = number_of(connection, "SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::move(tables).error();
  const bool is_empty = *application == 0 && *tables == 0;
  if (!is_empty && *application != kApplication) {
    return Error{Status::kFormat, fmt::format("{}: a database of another application ({:#x}), no voice library",
                                              connection.path(), *application)};
  }
  if (is_empty && !may_write) {
    return Error{Status::kFormat, fmt::format("{}: an empty database, which cannot be written", connection.path())};
  }
  if (may_write) {
    Result<Statement> mode = Statement::make(connection, "PRAGMA journal_mode=WAL");
    if (!mode) return std::move(mode).error();
    Statement::Run run(*mode);
    Result<bool> row = run.step();
    if (!row) return std::move(row).error();
    if (*row && run.text(0) != "wal") {
      return Error{Status::kIo, fmt::format("{}: no write-ahead log is possible here", connection.path())};
    }
  }
  if (is_empty) return make_tables(connection);
  Result<std::int64_t> version = number_of(connection, "PRAGMA user_version");
  if (!version) return std::move(version).error();
  if (*version == kLibraryVersion) return {};
  return Error{Status::kUnsupported, fmt::format("{}: a voice library of version {}, this timbre knows {}",
                                                 connection.path(), *version, kLibraryVersion)};
}

std::uint64_t seal_of(const Version& version, std::span<const std::byte> file, std::string_view id) {
  std::vector<std::byte> told(2 * sizeof(std::uint64_t) + file.size() + id.size());
  std::byte* at = told.data();
  const auto append = [&at](const void* from, std::size_t size) {
    if (size > 0) std::memcpy(at, from, size);
    at += size;
  };
  append(&version.sequence, sizeof version.sequence);
  append(&version.checksum, sizeof version.checksum);
  append(file.data(), file.size());
  append(id.data(), id.size());
  return voice::checksum_of(told);
}

}  // namespace timbre::store
