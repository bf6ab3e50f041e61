// SPDX-License-Identifier: MIT
#include "store/sqlite_connection.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace timbre::store {
namespace {

Status status_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Status::kTimeout;
    case SQLITE_NOMEM:
      return Status::kOutOfMemory;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Status::kFormat;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_TOOBIG:
      return Status::kIo;
    default:
      return Status::kInternal;
  }
}

/// '?', '#' and '%' have a meaning in a URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Options& options) {
  std::unique_ptr<Connection> connection(new Connection(options.path));
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= options.is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (options.may_create) flags |= SQLITE_OPEN_CREATE;
  if (options.is_immutable) flags |= SQLITE_OPEN_URI;
  const std::string name = options.is_immutable ? uri_of(options.path) : options.path;
  const int code = sqlite3_open_v2(name.c_str(), &connection->handle_, flags, options.vfs);
  if (connection->handle_ == nullptr) return Error{Status::kOutOfMemory, options.path + ": no memory to open it"};
  if (code != SQLITE_OK) return connection->error("cannot be opened");
  connection->set_busy_ms(options.busy_ms);
  sqlite3_db_config(connection->handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection->handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_wal_autocheckpoint(connection->handle_, 0);
  // Text from a damaged schema must not run anything.
  sqlite3_db_config(connection->handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  Result<void> set = connection->execute(
      "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA journal_size_limit=8388608; PRAGMA mmap_size=0; "
      "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY");
  if (!set) return std::move(set).error();
  return connection;
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

Result<void> Connection::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return error(std::string_view(sql).substr(0, 40));
}

Error Connection::error(std::string_view what) const {
  const int code = sqlite3_extended_errcode(handle_);
  std::string message = fmt::format("{}: {}: {} (SQLite code {})", path_, what, sqlite3_errmsg(handle_), code);
  const int system = sqlite3_system_errno(handle_);
  const int primary = code & 0xFF;
  if (system != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL)) {
    message += fmt::format(": {}", std::strerror(system));
  }
  return {status_of(code), std::move(message)};
}

Result<Statement> Statement::make(Connection& connection, const char* sql) {
  Statement statement;
  statement.connection_ = &connection;
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(connection.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) return connection.error(std::string_view(sql).substr(0, 40));
  statement.handle_.reset(handle);
  return statement;
}

Statement::Run& Statement::Run::bind(int at, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(handle_, at, value); code != SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement::Run& Statement::Run::bind(int at, std::string_view text) {
  const int code = sqlite3_bind_text64(handle_, at, text.data() == nullptr ? "" : text.data(), text.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement::Run& Statement::Run::bind_bytes(int at, std::span<const std::byte> bytes) {
  if (bytes.data() == nullptr) return *this;  // null
  const int code = sqlite3_bind_blob64(handle_, at, bytes.data(), bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) bind_code_ = code;
  return *this;
}

Result<bool> Statement::Run::step() {
  if (bind_code_ != SQLITE_OK) return connection_.error("a parameter was refused");
  switch (sqlite3_step(handle_)) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return connection_.error(std::string_view(sqlite3_sql(handle_)).substr(0, 40));
  }
}

Result<void> Statement::Run::finish() {
  while (true) {
    Result<bool> row = step();
    if (!row) return std::move(row).error();
    if (!*row) return {};
  }
}

std::span<const std::byte> Statement::Run::bytes(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(handle_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

std::string Statement::Run::text(int column) const {
  const std::span<const std::byte> raw = bytes(column);
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

Result<Transaction> Transaction::begin(Connection& connection, const char* begin) {
  if (Result<void> begun = connection.execute(begin); !begun) return std::move(begun).error();
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr && sqlite3_get_autocommit(connection_->get()) == 0) {
    static_cast<void>(connection_->execute("ROLLBACK"));
  }
}

Result<void> Transaction::commit() {
  Result<void> done = connection_->execute("COMMIT");
  if (done) connection_ = nullptr;
  return done;
}

}  // namespace timbre::store
