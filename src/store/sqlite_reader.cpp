// SPDX-License-Identifier: MIT
#include "store/sqlite_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/store_errors.hpp"
#include "voice/record_format.hpp"

namespace timbre::store {
namespace {

constexpr int kAttempts = 8;  // at a row whose file a re-put has just taken away

LoadFailure damage(std::string_view id, std::uint64_t sequence, std::string_view reason) {
  return {{Status::kFormat, fmt::format("voice '{}', version {} of the store, is damaged: {}", id, sequence, reason)},
          sequence};
}

/// The record of checked bytes.
std::variant<StoredVoice, LoadFailure> record_of(std::string_view id, const Row& row,
                                                 std::span<const std::byte> bytes) {
  if (row.seal != seal_of(row.version, row.file, id)) return damage(id, row.version.sequence, "its row is not its own");
  if (voice::stored_checksum(bytes) != row.version.checksum) {
    return damage(id, row.version.sequence, "its record is not that of its row");
  }
  Result<voice::VoiceRecord> record = voice::decode(bytes, "its record");
  if (record) return StoredVoice{std::make_shared<const voice::VoiceRecord>(std::move(*record)), row.version};
  // A later version of the format is no damage, if its bytes are whole: every version ends with the same checksum.
  if (record.error().status == Status::kUnsupported &&
      voice::checksum_of(bytes.first(bytes.size() - 8)) == row.version.checksum) {
    return LoadFailure{{Status::kUnsupported, fmt::format("voice '{}': {}", id, record.error().message)}, {}};
  }
  return damage(id, row.version.sequence, record.error().message);
}

}  // namespace

Result<std::unique_ptr<SqliteReader>> SqliteReader::make(std::unique_ptr<Connection> connection) {
  std::unique_ptr<SqliteReader> reader(new SqliteReader(std::move(connection)));
  const std::pair<Statement*, const char*> statements[] = {
      {&reader->load_, "SELECT sequence, checksum, seal, file, record FROM voices WHERE id = ?1"},
      {&reader->list_, "SELECT id FROM voices WHERE id >= ?1 ORDER BY id LIMIT ?2"},
      {&reader->most_used_, "SELECT id, count FROM uses ORDER BY count DESC, id LIMIT ?1"}};
  for (const auto& [statement, sql] : statements) {
    Result<Statement> made = Statement::make(*reader->connection_, sql);
    if (!made) return std::move(made).error();
    *statement = std::move(*made);
  }
  return reader;
}

std::variant<StoredVoice, LoadFailure> SqliteReader::load(std::string_view id, const BlobFiles& blobs) {
  for (int attempt = 1;; ++attempt) {
    if (std::optional<Loaded> loaded = load_once(id, blobs, attempt == kAttempts)) return std::move(*loaded);
  }
}

/// Nothing where the row's file was not there and the row should be read again.
std::optional<SqliteReader::Loaded> SqliteReader::load_once(std::string_view id, const BlobFiles& blobs, bool is_last) {
  Row row;
  {
    Statement::Run run(load_);
    const Result<bool> found = run.bind(1, id).step();
    if (!found) return LoadFailure{found.error(), {}};
    if (!*found) return LoadFailure{not_found(id), {}};
    row.version.sequence = static_cast<std::uint64_t>(run.number(0));
    row.version.checksum = static_cast<std::uint64_t>(run.number(1));
    row.seal = static_cast<std::uint64_t>(run.number(2));
    if (run.is_null(3)) return record_of(id, row, run.bytes(4));
    const std::span<const std::byte> file = run.bytes(3);
    row.file.assign(file.begin(), file.end());
  }
  if (row.file.size() != sizeof(BlobName)) return damage(id, row.version.sequence, "its file's name");
  const Result<std::vector<std::byte>> bytes = blobs.read(row.file);
  if (bytes) return record_of(id, row, *bytes);
  if (bytes.error().status != Status::kNotFound) return LoadFailure{bytes.error(), {}};
  if (!is_last) return std::nullopt;
  return damage(id, row.version.sequence, bytes.error().message);
}

Result<std::vector<std::string>> SqliteReader::list(std::string_view prefix, std::string_view cursor,
                                                    std::size_t limit) {
  std::vector<std::string> ids;
  std::string first(prefix);
  if (!cursor.empty() && cursor >= prefix) first = std::string(cursor) + '\0';  // the next string in byte order
  Statement::Run run(list_);
  run.bind(1, first).bind(2, static_cast<std::int64_t>(std::min<std::size_t>(limit, 1U << 30U)));
  while (true) {
    Result<bool> row = run.step();
    if (!row) return std::move(row).error();
    if (!*row) return ids;
    std::string id = run.text(0);
    if (!id.starts_with(prefix)) return ids;
    ids.push_back(std::move(id));
  }
}

Result<std::vector<UseCount>> SqliteReader::most_used(std::size_t limit) {
  std::vector<UseCount> found;
  Statement::Run run(most_used_);
  run.bind(1, static_cast<std::int64_t>(limit));
  while (true) {
    Result<bool> row = run.step();
    if (!row) return std::move(row).error();
    if (!*row) return found;
    found.push_back({run.text(0), static_cast<std::uint64_t>(run.number(1))});
  }
}

Result<ReaderPool::Lease> ReaderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<SqliteReader> reader = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(reader));
    }
  }
  Result<std::unique_ptr<Connection>> connection = Connection::open(options_);
  if (!connection) return std::move(connection).error();
  Result<std::unique_ptr<SqliteReader>> reader = SqliteReader::make(std::move(*connection));
  if (!reader) return std::move(reader).error();
  return Lease(*this, std::move(*reader));
}

void ReaderPool::give_back(std::unique_ptr<SqliteReader> reader) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(reader));
}

}  // namespace timbre::store
