// SPDX-License-Identifier: MIT
#include "store/sqlite_store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <thread>
#include <utility>

namespace timbre::store {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1};
constexpr std::chrono::milliseconds kShortWait{50};
constexpr std::uint64_t kLogLimitBytes = std::uint64_t{64} << 20U;
constexpr int kFileAttempts = 3;  // a sweep may take a file before it is locked

std::string absolute(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path found = std::filesystem::absolute(path, failed);
  return failed ? path : found.string();
}

std::int64_t random_number() {
  std::random_device device;
  return static_cast<std::int64_t>(std::uint64_t{device()} << 32U | device());
}

std::uint64_t file_bytes(const std::string& path) {
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  return failed ? 0 : size;
}

}  // namespace

class SqliteStore::Load final : public VoiceLoad {
 public:
  Load(SqliteStore& store, std::string_view id) : store_(store), id_(id) {}

  Result<std::optional<StoredVoice>> pump(Deadline deadline) override {
    while (true) {
      Result<StoredVoice> found = store_.load(id_);
      if (found) return std::optional<StoredVoice>(std::move(*found));
      // Another program holds the database.
      if (found.error().status != Status::kTimeout) return std::move(found).error();
      if (Clock::now() >= deadline) return std::optional<StoredVoice>();
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

 private:
  SqliteStore& store_;
  std::string id_;
};

// ---- Opening

SqliteStore::SqliteStore(const SqliteOptions& options)
    : options_(options), paths_(absolute(options.path)), writer_number_(random_number()), blobs_(paths_.blobs) {}

SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const SqliteOptions& options) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(options));
  Result<std::unique_ptr<WriteLock>> lock = WriteLock::open(store->paths_.lock);
  Result<void> opened;
  if (lock) {
    store->lock_ = std::move(*lock);
    opened = store->open_for_writing();
  }
  // No lock, or a database that this process may not write.
  if (opened && !store->writer_) {
    store->lock_.reset();
    opened = store->open_for_reading();
    if (!opened && !lock && opened.error().status != Status::kFormat) return std::move(lock).error();
  }
  if (!opened) return std::move(opened).error();
  if (Result<void> watched = store->watch(); !watched) return std::move(watched).error();
  static_cast<void>(store->sweep().ok());  // else maintain() does it, and tells what is wrong
  return store;
}

/// Without an error and without a writer where the database may only be read.
Result<void> SqliteStore::open_for_writing() {
  Result<WriteLock::Hold> hold = begin_write();
  if (!hold) return std::move(hold).error();
  Connection::Options how{paths_.database, options_.vfs, true, false, false, options_.busy_ms};
  Result<std::unique_ptr<Connection>> connection = Connection::open(how);
  if (!connection) return std::move(connection).error();
  if ((*connection)->is_read_only()) return {};
  if (options_.max_pages > 0) {
    const std::string limit = fmt::format("PRAGMA max_page_count={}", options_.max_pages);
    if (Result<void> limited = (*connection)->execute(limit.c_str()); !limited) return limited;
  }
  if (Result<void> prepared = prepare_library(**connection, true); !prepared) return prepared;
  Result<std::unique_ptr<SqliteWriter>> writer =
      SqliteWriter::make(std::move(*connection), blobs_, writer_number_, options_.busy_ms);
  if (!writer) return std::move(writer).error();
  writer_ = std::move(*writer);
  readers_ = std::make_unique<ReaderPool>(Connection::Options{paths_.database, options_.vfs, false, false, false, 0});
  return {};
}

Result<void> SqliteStore::open_for_reading() {
  Connection::Options how{paths_.database, options_.vfs, false, true, false, 0};
  const auto attempt = [&how]() -> Result<void> {
    Result<std::unique_ptr<Connection>> connection = Connection::open(how);
    if (!connection) return std::move(connection).error();
    return prepare_library(**connection, false);
  };
  Result<void> opened = attempt();
  // In a folder where nothing can be made SQLite reads a database only if it may take it for one that nobody writes.
  if (!opened && opened.error().status == Status::kIo && file_bytes(paths_.log) == 0) {
    how.is_immutable = true;
    opened = attempt();
  }
  if (opened) readers_ = std::make_unique<ReaderPool>(how);
  return opened;
}

Result<void> SqliteStore::watch() {
  Result<std::unique_ptr<Connection>> connection = Connection::open(readers_->options());
  if (!connection) return std::move(connection).error();
  Result<std::unique_ptr<ChangeWatcher>> watcher = ChangeWatcher::make(std::move(*connection), writer_number_);
  if (!watcher) return std::move(watcher).error();
  watcher_ = std::move(*watcher);
  return {};
}

// ---- Reading

Result<std::unique_ptr<VoiceLoad>> SqliteStore::begin_load(std::string_view id) {
  return std::unique_ptr<VoiceLoad>(std::make_unique<Load>(*this, id));
}

Result<StoredVoice> SqliteStore::load(std::string_view id) {
  std::variant<StoredVoice, LoadFailure> loaded;
  {
    Result<ReaderPool::Lease> reader = readers_->take();
    if (!reader) return std::move(reader).error();
    loaded = (*reader)->load(id, blobs_);
  }
  if (auto* voice = std::get_if<StoredVoice>(&loaded)) return std::move(*voice);
  LoadFailure& failure = *std::get_if<LoadFailure>(&loaded);
  if (failure.error.status == Status::kFormat) damaged_loads_.fetch_add(1, std::memory_order_relaxed);
  if (failure.damaged) quarantine(id, *failure.damaged, failure.error.message);
  return std::move(failure.error);
}

Result<std::vector<std::string>> SqliteStore::list(std::string_view prefix, std::string_view cursor,
                                                   std::size_t limit) {
  Result<ReaderPool::Lease> reader = readers_->take();
  if (!reader) return std::move(reader).error();
  return (*reader)->list(prefix, cursor, limit);
}

Result<std::vector<UseCount>> SqliteStore::most_used(std::size_t limit) {
  Result<ReaderPool::Lease> reader = readers_->take();
  if (!reader) return std::move(reader).error();
  return (*reader)->most_used(limit);
}

// ---- Writing

Result<WriteLock::Hold> SqliteStore::begin_write() {
  if (!lock_) return Error{Status::kIo, fmt::format("{}: this library can only be read", paths_.database)};
  Result<WriteLock::Hold> hold = lock_->take(Clock::now() + std::chrono::milliseconds(options_.busy_ms));
  if (!hold && hold.error().status == Status::kTimeout) busy_timeouts_.fetch_add(1, std::memory_order_relaxed);
  return hold;
}

Result<WriteLock::Hold> SqliteStore::begin_care() {
  if (!lock_) return Error{Status::kIo, fmt::format("{}: this library can only be read", paths_.database)};
  return lock_->take(Clock::now() + kShortWait);
}

Result<Version> SqliteStore::put(std::string_view id, voice::VoiceRecord record, std::optional<Expected> expected) {
  const Result<voice::EncodedRecord> encoded = voice::encode(record);
  if (!encoded) return Error{encoded.error().status, fmt::format("voice '{}': {}", id, encoded.error().message)};
  Result<std::vector<Version>> versions = put_encoded({&id, 1}, {&*encoded, 1}, expected);
  if (!versions) return std::move(versions).error();
  return versions->front();
}

Result<std::vector<Version>> SqliteStore::put_all(std::span<const std::pair<std::string, voice::VoiceRecord>> voices) {
  std::vector<std::string_view> ids;
  std::vector<voice::EncodedRecord> records;
  for (const auto& [id, record] : voices) {
    Result<voice::EncodedRecord> encoded = voice::encode(record);
    if (!encoded) return Error{encoded.error().status, fmt::format("voice '{}': {}", id, encoded.error().message)};
    ids.push_back(id);
    records.push_back(std::move(*encoded));
  }
  if (ids.empty()) return std::vector<Version>();
  return put_encoded(ids, records, std::nullopt);
}

Result<std::vector<Version>> SqliteStore::put_encoded(std::span<const std::string_view> ids,
                                                      std::span<const voice::EncodedRecord> records,
                                                      std::optional<Expected> expected) {
  if (!lock_) return Error{Status::kIo, fmt::format("{}: this library can only be read", paths_.database)};
  for (int attempt = 1;; ++attempt) {
    std::vector<std::optional<BlobFiles::Unnamed>> files(ids.size());
    std::vector<NewVoice> voices;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (records[i].bytes.size() >= options_.blob_bytes) {
        Result<BlobFiles::Unnamed> file = blobs_.write(records[i].bytes);
        if (!file) return Error{Status::kIo, fmt::format("voice '{}': {}", ids[i], file.error().message)};
        files[i].emplace(std::move(*file));
      }
      voices.push_back({ids[i], &records[i], &files[i], expected});
    }
    Result<WriteLock::Hold> hold = begin_write();
    if (!hold) return Error{hold.error().status, fmt::format("voice '{}': {}", ids[0], hold.error().message)};
    Result<std::vector<Version>> versions = writer_->put(*hold, voices);
    const bool is_file_gone = !versions && versions.error().status == Status::kNotFound;
    if (is_file_gone && attempt < kFileAttempts) continue;
    if (!versions) return Error{is_file_gone ? Status::kIo : versions.error().status, versions.error().message};
    return versions;
  }
}

Result<void> SqliteStore::remove(std::string_view id) {
  Result<WriteLock::Hold> hold = begin_write();
  if (!hold) return std::move(hold).error();
  if (Result<void> removed = writer_->remove(*hold, id); !removed) return removed;
  // It is removed in any case; what is left in the log goes later.
  const Result<bool> emptied = writer_->truncate_log(*hold);
  pending_erasures_.store(emptied && *emptied ? 0 : pending_erasures_.load() + 1);
  return {};
}

Result<void> SqliteStore::add_uses(std::span<const UseCount> uses) {
  if (uses.empty() || !lock_) return {};
  Result<WriteLock::Hold> hold = begin_care();
  if (!hold) return std::move(hold).error();
  return writer_->add_uses(*hold, uses);
}

/// The voice is refused in any case.
void SqliteStore::quarantine(std::string_view id, std::uint64_t sequence, std::string_view reason) {
  if (!lock_) return;
  const Result<WriteLock::Hold> hold = begin_care();
  if (hold) static_cast<void>(writer_->add_quarantine(*hold, id, sequence, reason).ok());
}

Result<std::uint64_t> SqliteStore::sweep() {
  const Result<WriteLock::Hold> hold = begin_care();
  if (!hold) return hold.error();
  Result<std::uint64_t> swept = writer_->sweep(*hold);
  if (swept) swept_files_.fetch_add(*swept, std::memory_order_relaxed);
  return swept;
}

SqliteStats SqliteStore::stats() const {
  SqliteStats stats;
  stats.is_read_only = !writer_;
  stats.log_bytes = file_bytes(paths_.log);
  stats.log_over_limit = stats.log_bytes > kLogLimitBytes;
  stats.checkpoints = writer_ ? writer_->checkpoints() : 0;
  stats.damaged_loads = damaged_loads_.load(std::memory_order_relaxed);
  stats.pending_erasures = pending_erasures_.load(std::memory_order_relaxed);
  stats.swept_files = swept_files_.load(std::memory_order_relaxed);
  stats.busy_timeouts = busy_timeouts_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace timbre::store
