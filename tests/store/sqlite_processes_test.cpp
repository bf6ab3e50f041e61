// SPDX-License-Identifier: MIT
//
// Writers and readers of one library in processes of their own, every value checked, with checkpoints forced.
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "cache/short_form.hpp"
#include "child_process.hpp"
#include "sqlite_fixture.hpp"
#include "store/write_lock.hpp"

using namespace timbre;               // NOLINT: a test
using namespace timbre::store;        // NOLINT: a test
using namespace timbre::store::test;  // NOLINT: a test

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::uint64_t kVoicesEach = 6;
constexpr std::uint64_t kAlwaysThere = 0;  // of a writer's voices, the first is never removed

/// Stamps of a voice only rise. @return 0, or the number of the check that failed.
int write_until(const SqliteOptions& options, std::uint64_t first, SteadyClock::time_point end) {
  const auto store = SqliteStore::open(options);
  if (!store) return 1;
  for (std::uint64_t stamp = 1; SteadyClock::now() < end; ++stamp) {
    const std::uint64_t at = stamp % kVoicesEach;
    if (at != kAlwaysThere && stamp % 11 == 0) {
      const auto removed = (*store)->remove(id_of(first + at));  // with a checkpoint that truncates
      if (!removed && removed.error().status != Status::kNotFound) return 2;
      if (read(**store, id_of(first + at)).error().status != Status::kNotFound) return 3;
      continue;
    }
    const auto version = keep(**store, first + at, stamp, stamp % 5 == 0 ? kInFile : 5000);
    if (!version) return 4;
    const auto own = read(**store, id_of(first + at));
    if (!own || own->version != *version || stamp_in(*own->record, first + at) != stamp) return 5;
    if (stamp % 40 == 0 && !(*store)->sweep()) return 6;
    if (!(*store)->changes()) return 7;
  }
  return (*store)->stats().busy_timeouts == 0 && (*store)->stats().damaged_loads == 0 ? 0 : 8;
}

int read_until(const SqliteOptions& options, SteadyClock::time_point end) {
  const auto store = SqliteStore::open(options);
  if (!store) return 11;
  std::map<std::uint64_t, std::uint64_t> last;
  std::uint64_t changes = 0;
  for (std::uint64_t i = 0; SteadyClock::now() < end; ++i) {
    const std::uint64_t number = (i / kVoicesEach % 2) * 100 + i % kVoicesEach;
    const auto voice = read(**store, id_of(number));
    if (!voice && voice.error().status != Status::kNotFound) return 12;
    if (!voice && number % 100 == kAlwaysThere) return 13;
    if (voice) {
      const auto stamp = stamp_in(*voice->record, number);
      if (!stamp) return 14;
      if (*stamp < last[number]) return 15;
      last[number] = *stamp;
    }
    if (i % 64 == 0) {
      const auto told = (*store)->changes();
      if (!told) return 16;
      changes += told->ids.size();
      if (!(*store)->list("", "", 100)) return 17;
    }
  }
  return changes > 0 ? 0 : 18;
}

}  // namespace

TEST_CASE("two writers and four readers in processes of their own see whole voices that never go back",
          "[store][sqlite][processes]") {
  const Library library;
  {
    const auto store = library.open();
    for (const std::uint64_t first : {0, 100}) REQUIRE(keep(*store, first + kAlwaysThere, 0));
  }
  const std::size_t seconds = cache::long_test("seconds", 60, 2);
  const auto end = SteadyClock::now() + std::chrono::seconds(seconds);
  std::vector<ChildProcess> children;
  for (const std::uint64_t first : {0, 100}) {
    children.emplace_back([&] { return write_until(library.options, first, end); });
  }
  for (int reader = 0; reader < 4; ++reader) {
    children.emplace_back([&] { return read_until(library.options, end); });
  }
  for (ChildProcess& child : children) CHECK(child.wait() == 0);
  const auto store = library.open();
  const auto report = store->check();
  REQUIRE(report);
  CHECK(report->damaged.empty());
  CHECK(report->database.empty());
  for (std::uint64_t number = 0; number < 200; ++number) {
    if (const auto voice = read(*store, id_of(number))) CHECK(stamp_in(*voice->record, number));
  }
}

TEST_CASE("commits of one process race with checkpoints of another, and no page is lost",
          "[store][sqlite][processes]") {
  const Library library;
  library.open().reset();
  const std::size_t count = cache::long_test("puts", 3000, cache::kSanitized ? 60 : 250);
  ChildProcess checkpoints([&] {
    const auto store = SqliteStore::open(library.options);
    if (!store) return 1;
    for (std::uint64_t stamp = 1;; ++stamp) {  // each removal empties the log
      if (read(**store, "end")) return 0;
      if (!(*store)->put("other", stamped_record(1, stamp)) || !(*store)->remove("other")) return 2;
    }
  });
  {
    const auto store = library.open();
    for (std::uint64_t number = 0; number < count; ++number) REQUIRE(keep(*store, number, number + 1));
    REQUIRE(store->put("end", stamped_record(1, 1)));
    CHECK(checkpoints.wait() == 0);
  }
  const auto store = library.open();
  for (std::uint64_t number = 0; number < count; ++number) REQUIRE(stamp(*store, number) == number + 1);
  CHECK(store->check()->database.empty());
}

TEST_CASE("the write lock goes with its process, and a wait for it ends at its deadline", "[store][lock]") {
  timbre::test::TemporaryFolder folder;
  const std::string path = folder / "lock";
  std::array<int, 2> held{};
  REQUIRE(pipe(held.data()) == 0);
  ChildProcess holder([&] {
    const auto lock = WriteLock::open(path);
    const auto hold = (*lock)->take(SteadyClock::now() + std::chrono::seconds(5));
    if (!hold || ::write(held[1], "x", 1) != 1) return 1;
    while (true) pause();
  });
  char mark = 0;
  REQUIRE(::read(held[0], &mark, 1) == 1);
  const auto lock = WriteLock::open(path);
  REQUIRE(lock);
  const auto late = (*lock)->take(SteadyClock::now() + std::chrono::milliseconds(30));
  REQUIRE_FALSE(late);
  CHECK(late.error().status == Status::kTimeout);
  holder.kill_now();
  CHECK((*lock)->take(SteadyClock::now() + std::chrono::seconds(5)));
  // Two locks of one process exclude each other as well.
  const auto second = WriteLock::open(path);
  {
    const auto hold = (*lock)->take(SteadyClock::now());
    REQUIRE(hold);
    CHECK_FALSE((*second)->take(SteadyClock::now() + std::chrono::milliseconds(10)));
  }
  CHECK((*second)->take(SteadyClock::now() + std::chrono::seconds(5)));
  for (const int end : held) close(end);
}
