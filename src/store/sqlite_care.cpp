// SPDX-License-Identifier: MIT
//
// SqliteStore's work that is nobody's in particular: maintenance, backup, the check of everything.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "store/sqlite_store.hpp"

namespace timbre::store {
namespace {

constexpr std::chrono::seconds kBetweenErasures{1};
constexpr std::chrono::minutes kBetweenTrims{1};
constexpr std::chrono::minutes kBetweenSweeps{10};
constexpr std::chrono::minutes kChangeAge{10};
constexpr int kPagesAtOnce = 256;  // of a backup
constexpr int kBackupAttempts = 5;
constexpr std::size_t kIdsAtOnce = 256;

Error cancelled(const char* what) { return {Status::kCancelled, fmt::format("{} was cancelled", what)}; }

/// The files that a database names.
Result<std::vector<std::vector<std::byte>>> named_files(Connection& connection) {
  Result<Statement> statement = Statement::make(connection, "SELECT DISTINCT file FROM voices WHERE file IS NOT NULL");
  if (!statement) return std::move(statement).error();
  std::vector<std::vector<std::byte>> files;
  Statement::Run run(*statement);
  while (true) {
    const Result<bool> row = run.step();
    if (!row) return row.error();
    if (!*row) return files;
    const std::span<const std::byte> file = run.bytes(0);
    files.emplace_back(file.begin(), file.end());
  }
}

struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

/// @param from  in a transaction, so that its snapshot stays.
Result<void> copy_pages(Connection& from, Connection& to, const Progress& progress) {
  const std::unique_ptr<sqlite3_backup, FinishBackup> backup(sqlite3_backup_init(to.get(), "main", from.get(), "main"));
  if (!backup) return to.error("backup");
  while (true) {
    const int code = sqlite3_backup_step(backup.get(), kPagesAtOnce);
    const auto all = static_cast<std::uint64_t>(sqlite3_backup_pagecount(backup.get()));
    const auto left = static_cast<std::uint64_t>(sqlite3_backup_remaining(backup.get()));
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_OK) return to.error("backup");
    if (progress && !progress(all - left, all)) return cancelled("the backup");
  }
}

}  // namespace

Result<void> SqliteStore::maintain() {
  if (!lock_) return {};
  const std::unique_lock care(care_mutex_, std::try_to_lock);
  if (!care) return {};  // somebody is at it
  const Clock::time_point now = Clock::now();
  Result<void> done;
  if (pending_erasures_.load() > 0 && now >= next_erasure_) {
    next_erasure_ = now + kBetweenErasures;
    done = erase_log();
  }
  if (done && next_minute_ == Clock::time_point{}) {  // the first time; the library was swept when it was opened
    next_minute_ = now + kBetweenTrims;
    next_sweep_ = now + kBetweenSweeps;
  }
  if (done && now >= next_minute_) {
    next_minute_ = now + kBetweenTrims;
    done = trim();
  }
  if (done && now >= next_sweep_) {
    next_sweep_ = now + kBetweenSweeps;
    const Result<std::uint64_t> swept = sweep();
    if (!swept) done = swept.error();
  }
  // Others are writing: there is another time.
  if (!done && done.error().status == Status::kTimeout) return {};
  return done;
}

Result<void> SqliteStore::erase_log() {
  const Result<WriteLock::Hold> hold = begin_care();
  if (!hold) return hold.error();
  const Result<bool> emptied = writer_->truncate_log(*hold);
  if (!emptied) return emptied.error();
  if (*emptied) pending_erasures_.store(0);
  return {};
}

/// Changes that are old, and a log that nobody has written to for a minute.
Result<void> SqliteStore::trim() {
  const Result<WriteLock::Hold> hold = begin_care();
  if (!hold) return hold.error();
  if (Result<void> dropped = writer_->drop_old_changes(*hold, kChangeAge); !dropped) return dropped;
  const int pages = writer_->log_pages();
  const bool is_idle = pages > 0 && pages == log_pages_seen_;
  log_pages_seen_ = pages;
  if (!is_idle) return {};
  const Result<bool> emptied = writer_->truncate_log(*hold);
  if (!emptied) return emptied.error();
  return {};
}

Result<void> SqliteStore::backup(const std::string& path, const Progress& progress) {
  const LibraryPaths made(path);
  std::error_code ignored;
  if (std::filesystem::exists(made.database, ignored) || std::filesystem::exists(made.blobs, ignored)) {
    return Error{Status::kConflict, fmt::format("{}: is there already; a backup makes a new library", path)};
  }
  for (int attempt = 1;; ++attempt) {
    Result<void> copied = copy_to(path, progress);
    if (copied) return {};
    std::filesystem::remove(made.database, ignored);
    std::filesystem::remove(made.database + "-journal", ignored);
    std::filesystem::remove_all(made.blobs, ignored);
    // A voice of the snapshot was put again or removed meanwhile, and its file went.
    if (copied.error().status != Status::kNotFound || attempt == kBackupAttempts) return copied;
  }
}

Result<void> SqliteStore::copy_to(const std::string& path, const Progress& progress) {
  Result<std::unique_ptr<Connection>> from = Connection::open(readers_->options());
  if (!from) return std::move(from).error();
  Result<Transaction> snapshot = Transaction::begin(**from, "BEGIN");
  if (!snapshot) return std::move(snapshot).error();
  const Result<std::vector<std::vector<std::byte>>> files = named_files(**from);  // here the snapshot begins
  if (!files) return files.error();
  BlobFiles copies(path + "-blobs");
  for (const std::vector<std::byte>& file : *files) {
    const Result<std::vector<std::byte>> bytes = blobs_.read(file);
    if (!bytes) return bytes.error();
    const BlobName found = blob_name(*bytes);
    if (!std::equal(file.begin(), file.end(), found.begin(), found.end())) {
      return Error{Status::kFormat, fmt::format("{}: its content is not what its name says", blobs_.path_of(file))};
    }
    Result<BlobFiles::Unnamed> copy = copies.write(*bytes);
    if (!copy) return std::move(copy).error();
    if (Result<void> published = copies.publish(*copy); !published) return published;
  }
  Result<std::unique_ptr<Connection>> to = Connection::open({path, nullptr, true, false, false, options_.busy_ms});
  if (!to) return std::move(to).error();
  return copy_pages(**from, **to, progress);
}

Result<LibraryReport> SqliteStore::check(const Progress& progress) {
  LibraryReport report;
  {
    Result<ReaderPool::Lease> reader = readers_->take();
    if (!reader) return std::move(reader).error();
    Result<Statement> statement = Statement::make((*reader)->connection(), "PRAGMA integrity_check(100)");
    if (!statement) return std::move(statement).error();
    Statement::Run run(*statement);
    while (true) {
      const Result<bool> row = run.step();
      if (!row) report.database.push_back(row.error().message);
      if (!row || !*row) break;
      if (std::string line = run.text(0); line != "ok") report.database.push_back(std::move(line));
    }
  }
  if (Result<void> checked = check_rows(report, progress); !checked) return std::move(checked).error();
  return report;
}

Result<void> SqliteStore::check_rows(LibraryReport& report, const Progress& progress) {
  std::string cursor;
  while (true) {
    const Result<std::vector<std::string>> ids = list("", cursor, kIdsAtOnce);
    if (!ids) {
      report.database.push_back(ids.error().message);
      return {};
    }
    if (ids->empty()) return {};
    for (const std::string& id : *ids) {
      const Result<StoredVoice> voice = load(id);
      ++report.voices;
      if (!voice && voice.error().status != Status::kNotFound) report.damaged.emplace_back(id, voice.error().message);
    }
    cursor = ids->back();
    if (progress && !progress(report.voices, 0)) return cancelled("the check");
  }
}

}  // namespace timbre::store
