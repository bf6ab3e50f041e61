// SPDX-License-Identifier: MIT
//
// The library on disk: restarts, other writers, erasing, uses, backups, and files that are something else.
#include "store/sqlite_store.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <thread>

#include "sqlite_fixture.hpp"

using namespace timbre;               // NOLINT: a test
using namespace timbre::store;        // NOLINT: a test
using namespace timbre::store::test;  // NOLINT: a test

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the values of a voice are anywhere in the library's files.
bool holds_values(const Library& library, std::uint64_t number, std::uint64_t stamp, std::size_t count) {
  const voice::VoiceRecord record = stamped_record(number, stamp, count);
  const std::span<const std::byte> some = std::span(record.tensors[0].data).first(256);  // begins with number, stamp
  const std::string wanted(reinterpret_cast<const char*>(some.data()), some.size());
  for (const auto& file : std::filesystem::recursive_directory_iterator(library.folder.path())) {
    if (file.is_regular_file() && bytes_of(file.path()).find(wanted) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("voices are there after a restart, in rows and in files", "[store][sqlite]") {
  const Library library;
  Version version;
  {
    const auto store = library.open();
    REQUIRE(keep(*store, 1, 5));
    version = *keep(*store, 2, 6, kInFile);
    CHECK(library.blob_count() == 1);
  }
  const auto store = library.open();
  CHECK(stamp(*store, 1) == 5);
  CHECK(stamp(*store, 2) == 6);
  CHECK(read(*store, id_of(2))->version == version);
  CHECK(keep(*store, 3, 1)->sequence > version.sequence);
}

TEST_CASE("equal large voices are one file, which goes with the last of them", "[store][sqlite]") {
  const Library library;
  const auto store = library.open();
  for (const char* id : {"a", "b"}) REQUIRE(store->put(id, stamped_record(1, 1, kInFile)));
  CHECK(library.blob_count() == 1);
  REQUIRE(store->put("a", stamped_record(1, 2, kInFile)));
  CHECK(library.blob_count() == 2);
  REQUIRE(store->put("b", stamped_record(1, 2, kInFile)));
  CHECK(library.blob_count() == 1);
  REQUIRE(store->put("b", stamped_record(1, 2, kInFile)));
  CHECK(library.blob_count() == 1);
  CHECK(stamp_in(*read(*store, "a")->record, 1) == 2);
  REQUIRE(store->remove("a"));
  CHECK(stamp_in(*read(*store, "b")->record, 1) == 2);
  REQUIRE(store->put("b", stamped_record(1, 3)));
  CHECK(library.blob_count() == 0);
}

TEST_CASE("another store sees puts and removals, and its own are not told", "[store][sqlite][changes]") {
  const Library library;
  const auto one = library.open();
  REQUIRE(keep(*one, 1, 1));
  const auto two = library.open();
  CHECK(two->changes()->ids.empty());
  REQUIRE(keep(*one, 1, 2));
  REQUIRE(keep(*one, 2, 1));
  REQUIRE(keep(*two, 3, 1));
  CHECK(stamp(*two, 1) == 2);
  auto changes = two->changes();
  REQUIRE(changes);
  CHECK_FALSE(changes->is_everything);
  std::sort(changes->ids.begin(), changes->ids.end());
  CHECK(changes->ids == std::vector<std::string>{id_of(1), id_of(2)});
  CHECK(two->changes()->ids.empty());
  REQUIRE(one->remove(id_of(1)));
  CHECK(two->changes()->ids == std::vector<std::string>{id_of(1)});
  CHECK(one->changes()->ids == std::vector<std::string>{id_of(3)});
}

TEST_CASE("a gap in the list of changes makes everything suspect, once", "[store][sqlite][changes]") {
  const Library library;
  const auto one = library.open();
  const auto two = library.open();
  std::vector<std::pair<std::string, voice::VoiceRecord>> many;
  for (std::uint64_t i = 0; i < 4500; ++i) many.emplace_back(id_of(i % 10), stamped_record(i % 10, i, 2));
  REQUIRE(one->put_all(many));
  const auto changes = two->changes();
  REQUIRE(changes);
  CHECK(changes->is_everything);
  CHECK_FALSE(two->changes()->is_everything);
  CHECK(stamp(*two, 9) == 4499);
  REQUIRE(keep(*one, 1, 1));
  CHECK(two->changes()->ids == std::vector<std::string>{id_of(1)});
}

TEST_CASE("a conditional put sees what another store has written", "[store][sqlite]") {
  const Library library;
  const auto one = library.open();
  const auto two = library.open();
  const auto first = one->put("v", stamped_record(1, 1), Expected{});
  REQUIRE(first);
  CHECK(two->put("v", stamped_record(1, 2), Expected{}).error().status == Status::kConflict);
  REQUIRE(two->put("v", stamped_record(1, 3), Expected{first->sequence, first->checksum}));
  CHECK(one->put("v", stamped_record(1, 4), Expected{first->sequence, {}}).error().status == Status::kConflict);
}

TEST_CASE("what is removed is in no file any more", "[store][sqlite][erase]") {
  const Library library;
  const auto store = library.open();
  const std::size_t count = GENERATE(kInRow, kInFile);
  for (std::uint64_t i = 0; i < 8; ++i) REQUIRE(keep(*store, i, 7, count));
  REQUIRE(holds_values(library, 3, 7, count));
  REQUIRE(store->remove(id_of(3)));
  CHECK_FALSE(holds_values(library, 3, 7, count));
  CHECK(store->stats().pending_erasures == 0);
  CHECK(holds_values(library, 4, 7, count));
}

TEST_CASE("what a reader keeps in the log is erased after the reader has gone", "[store][sqlite][erase]") {
  const Library library;
  const auto store = library.open();
  REQUIRE(keep(*store, 1, 1));
  auto reader = Connection::open({library.options.path, nullptr, false, true, false, 0});
  REQUIRE(reader);
  REQUIRE((*reader)->execute("BEGIN; SELECT count(*) FROM voices"));
  REQUIRE(store->remove(id_of(1)));
  CHECK(read(*store, id_of(1)).error().status == Status::kNotFound);
  CHECK(store->stats().pending_erasures == 1);
  CHECK(holds_values(library, 1, 1, kInRow));
  REQUIRE(store->maintain());
  CHECK(store->stats().pending_erasures == 1);
  reader->reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  REQUIRE(store->maintain());
  CHECK(store->stats().pending_erasures == 0);
  CHECK_FALSE(holds_values(library, 1, 1, kInRow));
}

TEST_CASE("the log stays bounded under many writes, and says so where a reader holds it", "[store][sqlite][log]") {
  Library library;
  const auto store = library.open();
  const auto fill = [&](std::uint64_t rounds) {
    std::vector<std::pair<std::string, voice::VoiceRecord>> some;
    for (std::uint64_t i = 0; i < 40; ++i) some.emplace_back(id_of(i), stamped_record(i, 1, 20'000));
    for (std::uint64_t round = 0; round < rounds; ++round) REQUIRE(store->put_all(some));
  };
  fill(30);  // 95 MB
  CHECK(store->stats().log_bytes < (std::uint64_t{24} << 20U));
  CHECK_FALSE(store->stats().log_over_limit);
  auto reader = Connection::open({library.options.path, nullptr, false, true, false, 0});
  REQUIRE((*reader)->execute("BEGIN; SELECT count(*) FROM voices"));
  fill(24);
  CHECK(store->stats().log_over_limit);
  CHECK(store->stats().busy_timeouts == 0);
  reader->reset();
  fill(3);
  CHECK_FALSE(store->stats().log_over_limit);
}

TEST_CASE("uses add up over restarts, fade, and go with their voice", "[store][sqlite][uses]") {
  const Library library;
  const std::vector<UseCount> some = {{id_of(1), 5}, {id_of(2), 9}};
  {
    const auto store = library.open();
    for (const std::uint64_t number : {1, 2, 3}) REQUIRE(keep(*store, number, 1));
    REQUIRE(store->add_uses(some));
    REQUIRE(store->add_uses(std::vector<UseCount>{{id_of(1), 6}}));
  }
  const auto store = library.open();
  auto most = store->most_used(9);
  REQUIRE(most);
  REQUIRE(most->size() == 2);
  CHECK((*most)[0].id == id_of(1));
  CHECK((*most)[0].count == 11);
  CHECK((*most)[1].count == 9);
  CHECK(store->most_used(1)->size() == 1);
  REQUIRE(store->remove(id_of(2)));
  CHECK(store->most_used(9)->size() == 1);
  REQUIRE(store->add_uses(some));  // somebody still counts it
  CHECK(store->most_used(9)->size() == 1);
  REQUIRE(store->add_uses(std::vector<UseCount>{{id_of(3), 70'000}}));
  CHECK(store->most_used(1)->front().count < 65'536);
}

TEST_CASE("files that no row names are swept, and those that are being written are not", "[store][sqlite][sweep]") {
  const Library library;
  const auto store = library.open();
  REQUIRE(keep(*store, 1, 1, kInFile));
  BlobFiles files(library.blobs());
  auto orphan = files.write(std::as_bytes(std::span("orphan", 6)));
  REQUIRE(files.publish(*orphan));
  auto writing = files.write(std::as_bytes(std::span("writing", 7)));
  REQUIRE(writing);
  library.folder.write("voices.db-blobs/new-abandoned", "half");
  library.folder.write("voices.db-blobs/somebody's.txt", "not ours");
  CHECK(library.blob_count() == 5);
  CHECK(*store->sweep() == 2);
  CHECK(library.blob_count() == 3);
  CHECK(stamp(*store, 1) == 1);
  REQUIRE(files.publish(*writing));
}

TEST_CASE("a backup is the library of one moment, while others write on", "[store][sqlite][backup]") {
  const Library library;
  const auto store = library.open();
  for (std::uint64_t i = 0; i < 40; ++i) REQUIRE(keep(*store, i, 1, i % 8 == 0 ? kInFile : kInRow));
  bool has_written = false;
  const auto write_on = [&](std::uint64_t, std::uint64_t) {
    if (!has_written) REQUIRE(keep(*store, 5, 2));
    has_written = true;
    return true;
  };
  std::vector<std::pair<std::string, voice::VoiceRecord>> more;
  for (std::uint64_t i = 100; i < 1100; ++i) more.emplace_back(id_of(i), stamped_record(i, 1, 500));
  REQUIRE(store->put_all(more));
  const std::string path = library.folder / "copy.db";
  REQUIRE(store->backup(path, write_on));
  CHECK(has_written);
  CHECK(store->backup(path).error().status == Status::kConflict);
  const auto copy = open_store({path});
  for (std::uint64_t i = 0; i < 40; ++i) CHECK(stamp(*copy, i) == 1);
  CHECK(stamp(*copy, 1099) == 1);
  const auto report = copy->check();
  REQUIRE(report);
  CHECK(report->voices == 1040);
  CHECK(report->damaged.empty());
  CHECK(report->database.empty());
  const std::string other = library.folder / "other.db";
  const auto stop = [](std::uint64_t, std::uint64_t) { return false; };
  CHECK(store->backup(other, stop).error().status == Status::kCancelled);
  CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("a file that is no library is refused, and left as it is", "[store][sqlite]") {
  const Library library;
  SECTION("text") {
    library.folder.write("voices.db", std::string(5000, 'x'));
    const auto opened = SqliteStore::open(library.options);
    CHECK(opened.error().status == Status::kFormat);
    CHECK(opened.error().message.find("voices.db") != std::string::npos);
    CHECK(bytes_of(library.options.path) == std::string(5000, 'x'));
  }
  SECTION("another application's database") {
    {
      auto other = Connection::open({library.options.path, nullptr, true, false, false, 0});
      REQUIRE((*other)->execute("CREATE TABLE theirs(a); PRAGMA application_id=77"));
    }
    const std::string before = bytes_of(library.options.path);
    const auto opened = SqliteStore::open(library.options);
    CHECK(opened.error().status == Status::kFormat);
    CHECK(opened.error().message.find("another application") != std::string::npos);
    CHECK(bytes_of(library.options.path) == before);
  }
  SECTION("a library of a later version") {
    library.open().reset();
    {
      auto later = Connection::open({library.options.path, nullptr, false, false, false, 0});
      REQUIRE((*later)->execute("PRAGMA user_version=2"));
    }
    const auto opened = SqliteStore::open(library.options);
    CHECK(opened.error().status == Status::kUnsupported);
    CHECK(opened.error().message.find("version 2, this timbre knows 1") != std::string::npos);
  }
  SECTION("a folder that is not there") {
    SqliteOptions options = library.options;
    options.path = library.folder / "none/voices.db";
    const auto opened = SqliteStore::open(options);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().message.find("none/voices.db") != std::string::npos);
  }
}
