// SPDX-License-Identifier: MIT
//
// A library in a folder of its own, and what tests ask of it.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "store/sqlite_store.hpp"
#include "temporary_folder.hpp"
#include "voice/record_samples.hpp"

namespace timbre::store::test {

using timbre::test::stamp_in;
using timbre::test::stamped_record;

constexpr std::size_t kInRow = 320;      // values of a voice that is kept in its row
constexpr std::size_t kInFile = 30'000;  // and of one that is a file

inline std::string id_of(std::uint64_t number) { return "voice/" + std::to_string(number); }

inline std::unique_ptr<SqliteStore> open_store(const SqliteOptions& options) {
  auto opened = SqliteStore::open(options);
  INFO((opened ? std::string() : opened.error().message));
  REQUIRE(opened);
  return std::move(*opened);
}

inline Result<StoredVoice> read(VoiceStore& store, std::string_view id) {
  Result<std::unique_ptr<VoiceLoad>> load = store.begin_load(id);
  if (!load) return std::move(load).error();
  Result<std::optional<StoredVoice>> voice = (*load)->pump(Deadline::max());
  if (!voice) return std::move(voice).error();
  return std::move(**voice);
}

/// The stamp of voice `number`, or nothing where it is not there or not whole.
inline std::optional<std::uint64_t> stamp(VoiceStore& store, std::uint64_t number) {
  const Result<StoredVoice> voice = read(store, id_of(number));
  return voice ? stamp_in(*voice->record, number) : std::nullopt;
}

inline Result<Version> keep(VoiceStore& store, std::uint64_t number, std::uint64_t stamp, std::size_t count = kInRow) {
  return store.put(id_of(number), stamped_record(number, stamp, count), {});
}

/// Two stores on one library are as two processes: they share files and locks, and no memory.
struct Library {
  timbre::test::TemporaryFolder folder;
  SqliteOptions options{folder / "voices.db"};

  [[nodiscard]] std::unique_ptr<SqliteStore> open() const { return open_store(options); }
  [[nodiscard]] std::string blobs() const { return options.path + "-blobs"; }
  [[nodiscard]] std::size_t blob_count() const {
    std::error_code failed;
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(blobs(), failed)) count += file.is_regular_file();
    return count;
  }
};

}  // namespace timbre::store::test
