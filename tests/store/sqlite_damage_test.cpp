// SPDX-License-Identifier: MIT
//
// Bits that turn, files cut short, disks that are full or may not be written: nothing wrong is given, nothing else
// lost.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>

#include "cache/short_form.hpp"
#include "child_process.hpp"
#include "sqlite_fixture.hpp"

using namespace timbre;               // NOLINT: a test
using namespace timbre::store;        // NOLINT: a test
using namespace timbre::store::test;  // NOLINT: a test

namespace {

constexpr std::uint64_t kVoices = 60;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// All of it in the database file, none in the log.
void settle(const Library& library) {
  auto connection = Connection::open({library.options.path, nullptr, false, false, false, 0});
  REQUIRE(connection);
  REQUIRE((*connection)->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
}

std::string only_blob(const Library& library) {
  for (const auto& file : std::filesystem::directory_iterator(library.blobs())) return file.path();
  return {};
}

}  // namespace

TEST_CASE("whatever bit of the database turns, no voice is given that was not put", "[store][sqlite][damage]") {
  const Library library;
  {
    const auto store = library.open();
    for (std::uint64_t i = 0; i < kVoices; ++i) REQUIRE(keep(*store, i, i + 1));
  }
  settle(library);
  const std::string whole = bytes_of(library.options.path);
  std::filesystem::remove(library.options.path + "-shm");
  std::uint64_t state = 88172645463325252U;
  std::uint64_t lost = 0;
  const std::size_t rounds = cache::long_test("turned bits", 2000, cache::kSanitized ? 60 : 250);
  for (std::size_t round = 0; round < rounds; ++round) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    std::string turned = whole;
    const std::size_t bit = state % (whole.size() * 8);
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << bit % 8));
    write_bytes(library.options.path, turned);
    auto opened = SqliteStore::open(library.options);
    if (!opened) {  // a header that says something else
      CHECK((opened.error().status == Status::kFormat || opened.error().status == Status::kUnsupported ||
             opened.error().status == Status::kIo));
      continue;
    }
    std::uint64_t good = 0;
    for (std::uint64_t i = 0; i < kVoices; ++i) {
      const auto voice = read(**opened, id_of(i));
      if (voice) {
        REQUIRE(stamp_in(*voice->record, i) == i + 1);
        ++good;
      }
    }
    if (good < kVoices) {
      ++lost;
      const auto report = (*opened)->check();
      REQUIRE(report);
      CHECK((!report->damaged.empty() || !report->database.empty()));
    }
    opened->reset();
    for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(library.options.path + end);
  }
  CHECK(lost > 0);
}

TEST_CASE("a damaged row is told, counted and set apart, and the others stay usable", "[store][sqlite][damage]") {
  const Library library;
  {
    const auto store = library.open();
    for (std::uint64_t i = 0; i < 9; ++i) REQUIRE(keep(*store, i, 1));
  }
  settle(library);
  const auto break_row = [&](const char* sql) {
    auto connection = Connection::open({library.options.path, nullptr, false, false, false, 0});
    REQUIRE((*connection)->execute(sql));
  };
  break_row("UPDATE voices SET record = substr(record, 1, length(record) - 20) WHERE id = 'voice/1'");
  break_row("UPDATE voices SET record = (SELECT record FROM voices WHERE id = 'voice/3') WHERE id = 'voice/2'");
  break_row("UPDATE voices SET id = 'voice/44' WHERE id = 'voice/4'");
  break_row("UPDATE voices SET checksum = checksum + 1 WHERE id = 'voice/5'");
  break_row("UPDATE voices SET record = NULL WHERE id = 'voice/6'");
  const auto store = library.open();
  for (const char* id : {"voice/1", "voice/2", "voice/44", "voice/5", "voice/6"}) {
    const auto voice = read(*store, id);
    INFO(id);
    REQUIRE_FALSE(voice);
    CHECK(voice.error().status == Status::kFormat);
    CHECK(voice.error().message.find(id) != std::string::npos);
  }
  CHECK(store->stats().damaged_loads == 5);
  for (const std::uint64_t i : {0, 3, 7, 8}) CHECK(stamp(*store, i) == 1);
  auto report = store->check();
  CHECK(report->damaged.size() == 5);
  CHECK(report->database.empty());
  REQUIRE(keep(*store, 1, 2));
  CHECK(stamp(*store, 1) == 2);
  REQUIRE(store->remove("voice/44"));
  report = store->check();
  CHECK(report->damaged.size() == 3);
}

TEST_CASE("a blob's file that is turned, cut or gone is found, and a put heals it", "[store][sqlite][damage]") {
  const Library library;
  const auto store = library.open();
  REQUIRE(keep(*store, 1, 1, kInFile));
  const std::string path = only_blob(library);
  const std::string whole = bytes_of(path);
  const std::string how = GENERATE(as<std::string>{}, "turned", "cut", "empty", "gone");
  if (how == "turned") {
    std::string turned = whole;
    turned[50'000] = static_cast<char>(turned[50'000] ^ 4);
    write_bytes(path, turned);
  } else if (how == "gone") {
    std::filesystem::remove(path);
  } else {
    write_bytes(path, how == "cut" ? whole.substr(0, 70'000) : "");
  }
  const auto voice = read(*store, id_of(1));
  REQUIRE_FALSE(voice);
  CHECK(voice.error().status == Status::kFormat);
  CHECK(voice.error().message.find("voice '" + id_of(1) + "'") != std::string::npos);
  CHECK(store->check()->damaged.size() == 1);
  REQUIRE(keep(*store, 1, 1, kInFile));  // the same bytes, the same file
  CHECK(stamp(*store, 1) == 1);
  CHECK(store->check()->damaged.empty());
}

TEST_CASE("a database cut short is told, and what is left can be read or is refused", "[store][sqlite][damage]") {
  const Library library;
  {
    const auto store = library.open();
    for (std::uint64_t i = 0; i < kVoices; ++i) REQUIRE(keep(*store, i, 1));
  }
  settle(library);
  const std::string whole = bytes_of(library.options.path);
  for (const std::size_t size : {whole.size() / 2, whole.size() - 5000, std::size_t{5000}, std::size_t{100}}) {
    for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(library.options.path + end);
    write_bytes(library.options.path, whole.substr(0, size));
    const auto opened = SqliteStore::open(library.options);
    if (!opened) {
      CHECK(opened.error().message.find("voices.db") != std::string::npos);
      continue;
    }
    for (std::uint64_t i = 0; i < kVoices; ++i) {
      const auto voice = read(**opened, id_of(i));
      if (voice) CHECK(stamp_in(*voice->record, i) == 1);
    }
    const auto report = (*opened)->check();
    REQUIRE(report);
    CHECK_FALSE(report->database.empty());
  }
}

TEST_CASE("a full database refuses a put, keeps what it has and takes more when there is room",
          "[store][sqlite][full]") {
  Library library;
  library.options.max_pages = 60;
  std::map<std::uint64_t, std::uint64_t> kept;
  {
    const auto store = library.open();
    std::uint64_t number = 0;
    for (; number < 1000; ++number) {
      const auto version = keep(*store, number, 1);
      if (!version) {
        CHECK(version.error().status == Status::kIo);
        CHECK(version.error().message.find("full") != std::string::npos);
        break;
      }
      kept[number] = 1;
    }
    REQUIRE(number < 1000);
    REQUIRE(kept.size() > 10);
    for (const auto& [at, stamped] : kept) CHECK(stamp(*store, at) == stamped);
    CHECK(read(*store, id_of(number)).error().status == Status::kNotFound);
    for (std::uint64_t i = 0; i < 8; ++i) REQUIRE(store->remove(id_of(i)));
    CHECK(keep(*store, 0, 2));
  }
  library.options.max_pages = 0;
  const auto store = library.open();
  CHECK(stamp(*store, 0) == 2);
  CHECK(keep(*store, 999, 1));
  CHECK(store->check()->database.empty());
}

TEST_CASE("a disk that takes no more bytes gives an error, and nothing is lost", "[store][sqlite][full]") {
  const Library library;
  {
    const auto store = library.open();
    for (std::uint64_t i = 0; i < 20; ++i) REQUIRE(keep(*store, i, 1));
  }
  const int failed = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
    const rlimit limit{1'000'000, 1'000'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto store = SqliteStore::open(library.options);
    if (!store) return 2;
    const auto large = keep(**store, 50, 1, 300'000);  // 1.2 MB in one file
    if (large || large.error().status != Status::kIo) return 3;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const auto version = keep(**store, i, 2, 5000);
      if (version) continue;
      if (version.error().status != Status::kIo) return 4;
      for (std::uint64_t j = 0; j < 20; ++j) {
        if (stamp(**store, j) != (j < i ? 2 : 1)) return 5;
      }
      return 0;
    }
    return 6;
  });
  CHECK(failed == 0);
  const auto store = library.open();
  std::uint64_t newer = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto found = stamp(*store, i);
    REQUIRE(found);
    newer += *found == 2;
  }
  CHECK(newer > 0);
  CHECK(store->check()->database.empty());
  CHECK(library.blob_count() == 0);
  CHECK(keep(*store, 50, 1, 300'000));
}

TEST_CASE("a library that may not be written is read, and a put says why it cannot be", "[store][sqlite][read_only]") {
  const Library library;
  {
    const auto store = library.open();
    REQUIRE(keep(*store, 1, 1));
    REQUIRE(keep(*store, 2, 1, kInFile));
  }
  const bool has_log = GENERATE(true, false);
  if (!has_log) {
    settle(library);
    for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(library.options.path + end);
  }
  for (const auto& file : std::filesystem::recursive_directory_iterator(library.folder.path())) {
    REQUIRE(chmod(file.path().c_str(), file.is_directory() ? 0555 : 0444) == 0);
  }
  REQUIRE(chmod(library.folder.path().c_str(), 0555) == 0);
  const int failed = in_child([&] {
    constexpr unsigned kNobody = 65534;
    if (getuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) return 1;  // root may write anywhere
    const auto store = SqliteStore::open(library.options);
    if (!store) return 2;
    if (stamp(**store, 1) != 1 || stamp(**store, 2) != 1) return 3;
    if ((*store)->list("", "", 9)->size() != 2 || !(*store)->stats().is_read_only) return 4;
    const auto version = keep(**store, 1, 2);
    if (version || version.error().status != Status::kIo) return 5;
    if (version.error().message.find("can only be read") == std::string::npos) return 6;
    if ((*store)->remove(id_of(1)) || !(*store)->maintain() || !(*store)->changes()) return 7;
    if (read(**store, id_of(9)).error().status != Status::kNotFound) return 8;
    return (*store)->check()->damaged.empty() ? 0 : 9;
  });
  REQUIRE(chmod(library.folder.path().c_str(), 0755) == 0);
  REQUIRE(chmod(library.blobs().c_str(), 0755) == 0);
  CHECK(failed == 0);
}
