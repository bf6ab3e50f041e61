// SPDX-License-Identifier: MIT
#include "store/sqlite_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "store/store_errors.hpp"

namespace timbre::store {
namespace {

constexpr std::int64_t kKeptChanges = 4096;
constexpr int kCheckpointPages = 1000;
constexpr std::int64_t kMostUses = 65'536;
constexpr std::int64_t kKeptUses = 1024;
constexpr int kReadersMs = 20;  // for a read that is under way to end

std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::int64_t now_seconds() { return static_cast<std::int64_t>(std::time(nullptr)); }

int note_log_pages(void* pages, sqlite3*, const char*, int count) {
  static_cast<std::atomic<int>*>(pages)->store(count, std::memory_order_relaxed);
  return SQLITE_OK;
}

}  // namespace

Result<std::unique_ptr<SqliteWriter>> SqliteWriter::make(std::unique_ptr<Connection> connection, BlobFiles& blobs,
                                                         std::int64_t writer, int busy_ms) {
  std::unique_ptr<SqliteWriter> made(new SqliteWriter(std::move(connection), blobs, writer, busy_ms));
  if (Result<void> prepared = made->prepare(); !prepared) return std::move(prepared).error();
  sqlite3_wal_hook(made->connection_->get(), note_log_pages, &made->log_pages_);
  return made;
}

Result<void> SqliteWriter::prepare() {
  const std::pair<Statement*, const char*> statements[] = {
      {&find_, "SELECT sequence, checksum, file FROM voices WHERE id = ?1"},
      {&count_up_, "UPDATE state SET sequence = sequence + 1 RETURNING sequence"},
      {&erase_, "DELETE FROM voices WHERE sequence = ?1"},
      {&insert_, "INSERT INTO voices(sequence, id, checksum, seal, file, record) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"},
      {&add_change_, "INSERT INTO changes(sequence, writer, at, id) VALUES(?1, ?2, ?3, ?4)"},
      {&trim_changes_, "DELETE FROM changes WHERE sequence <= ?1"},
      {&note_trim_, "UPDATE state SET trimmed = max(trimmed, ?1)"},
      {&drop_changes_, "DELETE FROM changes WHERE at < ?1 RETURNING sequence"},
      {&drop_uses_, "DELETE FROM uses WHERE id = ?1"},
      {&add_uses_,
       "INSERT INTO uses(id, count) SELECT ?1, ?2 WHERE EXISTS(SELECT 1 FROM voices WHERE id = ?1) "
       "ON CONFLICT(id) DO UPDATE SET count = count + ?2"},
      {&sum_uses_, "SELECT sum(count) FROM uses"},
      {&halve_uses_, "UPDATE uses SET count = count / 2"},
      {&cut_uses_,
       "DELETE FROM uses WHERE count = 0 OR id IN (SELECT id FROM uses ORDER BY count DESC, id LIMIT -1 OFFSET ?1)"},
      {&clear_quarantine_, "DELETE FROM quarantine WHERE id = ?1"},
      {&add_quarantine_, "INSERT OR REPLACE INTO quarantine(id, sequence, at, reason) VALUES(?1, ?2, ?3, ?4)"},
      {&is_used_, "SELECT 1 FROM voices WHERE file = ?1"}};
  for (const auto& [statement, sql] : statements) {
    Result<Statement> made = Statement::make(*connection_, sql);
    if (!made) return std::move(made).error();
    *statement = std::move(*made);
  }
  return {};
}

// ---- Voices

Result<std::vector<Version>> SqliteWriter::put(const Hold& hold, std::span<const NewVoice> voices) {
  std::vector<Version> versions;
  std::vector<std::vector<std::byte>> old_files;
  {
    Result<Transaction> writing = Transaction::begin(*connection_, "BEGIN IMMEDIATE");
    if (!writing) return std::move(writing).error();
    for (const NewVoice& voice : voices) {
      Result<Version> version = put_one(voice, old_files);
      if (!version) return std::move(version).error();
      versions.push_back(*version);
    }
    const std::int64_t trimmed = signed_of(versions.back().sequence) - kKeptChanges;
    if (trimmed > 0) {
      if (Result<void> done = Statement::Run(trim_changes_).bind(1, trimmed).finish(); !done) return done.error();
      if (Result<void> done = Statement::Run(note_trim_).bind(1, trimmed).finish(); !done) return done.error();
    }
    for (const NewVoice& voice : voices) {
      if (voice.file == nullptr || !*voice.file) continue;
      if (Result<void> published = blobs_.publish(**voice.file); !published) return std::move(published).error();
    }
    if (Result<void> committed = writing->commit(); !committed) return std::move(committed).error();
  }
  erase_unused(old_files);
  checkpoint_if_long(hold);
  return versions;
}

Result<Version> SqliteWriter::put_one(const NewVoice& voice, std::vector<std::vector<std::byte>>& old_files) {
  Result<There> there = find(voice.id);
  if (!there) return std::move(there).error();
  if (Result<void> fits = check_expected(voice.id, there->version, voice.expected); !fits) return fits.error();
  Result<std::uint64_t> sequence = next_sequence();
  if (!sequence) return std::move(sequence).error();
  if (there->version.sequence != 0) {
    const std::int64_t old = signed_of(there->version.sequence);
    if (Result<void> erased = Statement::Run(erase_).bind(1, old).finish(); !erased) return erased.error();
    if (!there->file.empty()) old_files.push_back(std::move(there->file));
  }
  const Version version{*sequence, voice.record->checksum};
  std::span<const std::byte> file;
  if (voice.file != nullptr && *voice.file) file = (*voice.file)->name();
  {
    Statement::Run run(insert_);
    run.bind(1, signed_of(version.sequence)).bind(2, voice.id).bind(3, signed_of(version.checksum));
    run.bind(4, signed_of(seal_of(version, file, voice.id))).bind_bytes(5, file);
    if (file.empty()) run.bind_bytes(6, voice.record->bytes);
    if (Result<void> inserted = run.finish(); !inserted) return inserted.error();
  }
  if (Result<void> cleared = Statement::Run(clear_quarantine_).bind(1, voice.id).finish(); !cleared) {
    return cleared.error();
  }
  if (Result<void> noted = note_change(*sequence, voice.id); !noted) return noted.error();
  return version;
}

Result<void> SqliteWriter::remove(const Hold&, std::string_view id) {
  std::vector<std::vector<std::byte>> old_files;
  {
    Result<Transaction> writing = Transaction::begin(*connection_, "BEGIN IMMEDIATE");
    if (!writing) return std::move(writing).error();
    Result<There> there = find(id);
    if (!there) return std::move(there).error();
    if (there->version.sequence == 0) return not_found(id);
    if (!there->file.empty()) old_files.push_back(std::move(there->file));
    const std::int64_t old = signed_of(there->version.sequence);
    if (Result<void> erased = Statement::Run(erase_).bind(1, old).finish(); !erased) return erased;
    for (Statement* statement : {&drop_uses_, &clear_quarantine_}) {
      if (Result<void> done = Statement::Run(*statement).bind(1, id).finish(); !done) return done;
    }
    const Result<std::uint64_t> sequence = next_sequence();
    if (!sequence) return sequence.error();
    if (Result<void> noted = note_change(*sequence, id); !noted) return noted;
    if (Result<void> committed = writing->commit(); !committed) return committed;
  }
  erase_unused(old_files);
  return {};
}

Result<SqliteWriter::There> SqliteWriter::find(std::string_view id) {
  There there;
  Statement::Run run(find_);
  Result<bool> row = run.bind(1, id).step();
  if (!row) return std::move(row).error();
  if (!*row) return there;
  there.version = {static_cast<std::uint64_t>(run.number(0)), static_cast<std::uint64_t>(run.number(1))};
  const std::span<const std::byte> file = run.bytes(2);
  there.file.assign(file.begin(), file.end());
  return there;
}

Result<std::uint64_t> SqliteWriter::next_sequence() {
  Statement::Run run(count_up_);
  const Result<bool> row = run.step();
  if (!row) return row.error();
  if (!*row) return Error{Status::kFormat, connection_->path() + ": the row of 'state' is gone"};
  const auto sequence = static_cast<std::uint64_t>(run.number(0));
  if (Result<void> done = run.finish(); !done) return done.error();
  return sequence;
}

Result<void> SqliteWriter::note_change(std::uint64_t sequence, std::string_view id) {
  Statement::Run run(add_change_);
  return run.bind(1, signed_of(sequence)).bind(2, writer_).bind(3, now_seconds()).bind(4, id).finish();
}

// ---- Files

Result<bool> SqliteWriter::is_used(std::span<const std::byte> file) {
  Statement::Run run(is_used_);
  return run.bind_bytes(1, file).step();
}

/// What cannot be erased now the sweep finds.
void SqliteWriter::erase_unused(std::span<const std::vector<std::byte>> files) {
  for (const std::vector<std::byte>& file : files) {
    const Result<bool> used = is_used(file);
    if (used && !*used) static_cast<void>(blobs_.erase(file).ok());
  }
}

Result<std::uint64_t> SqliteWriter::sweep(const Hold&) {
  return blobs_.sweep([this](std::span<const std::byte> file) { return is_used(file); });
}

// ---- What else is kept

Result<void> SqliteWriter::add_uses(const Hold&, std::span<const UseCount> uses) {
  Result<Transaction> writing = Transaction::begin(*connection_, "BEGIN IMMEDIATE");
  if (!writing) return std::move(writing).error();
  for (const UseCount& use : uses) {
    const auto count = signed_of(std::min<std::uint64_t>(use.count, kMostUses));
    if (Result<void> added = Statement::Run(add_uses_).bind(1, use.id).bind(2, count).finish(); !added) return added;
  }
  std::int64_t sum = 0;
  {
    Statement::Run run(sum_uses_);
    const Result<bool> row = run.step();
    if (!row) return row.error();
    if (*row) sum = run.number(0);
  }
  for (; sum > kMostUses; sum /= 2) {
    if (Result<void> halved = Statement::Run(halve_uses_).finish(); !halved) return halved;
  }
  if (Result<void> cut = Statement::Run(cut_uses_).bind(1, kKeptUses).finish(); !cut) return cut;
  return writing->commit();
}

Result<void> SqliteWriter::add_quarantine(const Hold&, std::string_view id, std::uint64_t sequence,
                                          std::string_view reason) {
  // Only while that row is there: a put has cleared it.
  const Result<There> there = find(id);
  if (!there) return there.error();
  if (there->version.sequence != sequence) return {};
  Statement::Run run(add_quarantine_);
  return run.bind(1, id).bind(2, signed_of(sequence)).bind(3, now_seconds()).bind(4, reason).finish();
}

Result<void> SqliteWriter::drop_old_changes(const Hold&, std::chrono::seconds age) {
  Result<Transaction> writing = Transaction::begin(*connection_, "BEGIN IMMEDIATE");
  if (!writing) return std::move(writing).error();
  std::int64_t last = 0;
  {
    Statement::Run run(drop_changes_);
    run.bind(1, now_seconds() - age.count());
    while (true) {
      const Result<bool> row = run.step();
      if (!row) return row.error();
      if (!*row) break;
      last = std::max(last, run.number(0));
    }
  }
  if (last == 0) return {};
  if (Result<void> noted = Statement::Run(note_trim_).bind(1, last).finish(); !noted) return noted;
  return writing->commit();
}

// ---- The log

Result<void> SqliteWriter::checkpoint(const Hold&) {
  const int code = sqlite3_wal_checkpoint_v2(connection_->get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  checkpointed_pages_ = log_pages();
  checkpoints_.fetch_add(1, std::memory_order_relaxed);
  if (code == SQLITE_OK || code == SQLITE_BUSY) return {};
  return connection_->error("checkpoint");
}

void SqliteWriter::checkpoint_if_long(const Hold& hold) {
  const int pages = log_pages();
  if (pages < checkpointed_pages_) checkpointed_pages_ = 0;  // the log has begun anew
  if (pages < checkpointed_pages_ + kCheckpointPages) return;
  // The voice is kept in any case; a checkpoint that fails is tried again with the next thousand pages.
  static_cast<void>(checkpoint(hold).ok());
}

Result<bool> SqliteWriter::truncate_log(const Hold&) {
  connection_->set_busy_ms(kReadersMs);
  const int code = sqlite3_wal_checkpoint_v2(connection_->get(), "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  connection_->set_busy_ms(busy_ms_);
  checkpoints_.fetch_add(1, std::memory_order_relaxed);
  if ((code & 0xFF) == SQLITE_BUSY) return false;
  if (code != SQLITE_OK) return connection_->error("checkpoint");
  log_pages_.store(0, std::memory_order_relaxed);
  checkpointed_pages_ = 0;
  return true;
}

}  // namespace timbre::store
