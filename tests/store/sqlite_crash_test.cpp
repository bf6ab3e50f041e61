// SPDX-License-Identifier: MIT
//
// A writer that is killed, and a machine that loses power: what was acknowledged is there and whole.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <thread>

#include "cache/short_form.hpp"
#include "child_process.hpp"
#include "power_loss_vfs.hpp"
#include "sqlite_fixture.hpp"

using namespace timbre;               // NOLINT: a test
using namespace timbre::store;        // NOLINT: a test
using namespace timbre::store::test;  // NOLINT: a test

namespace {

constexpr std::uint64_t kVoicesEach = 8;

std::uint64_t roll(std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state >> 33U;
}

/// What a writer is about to do, and then that it is done.
struct Note {
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;  ///< 0: a removal
  std::uint64_t is_done = 0;
};

/// What a voice may be: what was acknowledged last, or what was begun after it.
struct Allowed {
  std::optional<std::uint64_t> acknowledged;
  std::optional<std::optional<std::uint64_t>> begun;
};

std::optional<std::uint64_t> stamp_of(const Note& note) {
  return note.stamp == 0 ? std::nullopt : std::optional(note.stamp);
}

std::size_t size_of(std::uint64_t dice) { return dice % 4 == 0 ? kInFile : kInRow; }

/// Puts and removes the voices from `first` on until nobody reads its notes or `stop` can be read.
int write_voices(const SqliteOptions& options, std::uint64_t first, std::uint64_t seed, int notes, int stop) {
  const auto store = SqliteStore::open(options);
  if (!store) return 1;
  for (std::uint64_t stamp = seed * 100'000 + 1;; ++stamp) {
    pollfd asked{stop, POLLIN, 0};
    if (poll(&asked, 1, 0) != 0) return 0;
    Note note{first + roll(seed) % kVoicesEach, stamp % 1'000'000, 0};
    const bool is_removal = roll(seed) % 5 == 0;
    if (is_removal) note.stamp = 0;
    if (::write(notes, &note, sizeof note) != sizeof note) return 2;
    if (is_removal) {
      const auto removed = (*store)->remove(id_of(note.number));
      if (!removed && removed.error().status != Status::kNotFound) return 3;
    } else if (!keep(**store, note.number, note.stamp, size_of(roll(seed)))) {
      return 4;
    }
    note.is_done = 1;
    if (::write(notes, &note, sizeof note) != sizeof note) return 2;
  }
}

struct Pipe {
  Pipe() { REQUIRE(pipe(ends.data()) == 0); }
  ~Pipe() {
    for (int& end : ends) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  std::array<int, 2> ends{};
};

/// Takes the notes that are in a pipe.
void take_notes(const Pipe& notes, std::map<std::uint64_t, Allowed>& allowed) {
  while (true) {
    pollfd ready{notes.ends[0], POLLIN, 0};
    Note note;
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLIN) == 0) return;
    REQUIRE(::read(notes.ends[0], &note, sizeof note) == sizeof note);
    Allowed& voice = allowed[note.number];
    voice.begun.reset();
    if (note.is_done != 0) {
      voice.acknowledged = stamp_of(note);
    } else {
      voice.begun = stamp_of(note);
    }
  }
}

/// Every voice is as it may be, whole, and there is a file for each that needs one and no other.
void verify(SqliteStore& store, const Library& library, std::map<std::uint64_t, Allowed>& allowed) {
  std::set<std::string> large;
  for (auto& [number, voice] : allowed) {
    const auto found = read(store, id_of(number));
    INFO("voice " << number << (found ? std::string() : ": " + found.error().message));
    REQUIRE((found || found.error().status == Status::kNotFound));
    std::optional<std::uint64_t> there;
    if (found) {
      there = stamp_in(*found->record, number);
      REQUIRE(there);
      if (found->record->tensors[0].data.size() > 100'000) large.insert(id_of(number));
    }
    REQUIRE((there == voice.acknowledged || (voice.begun && there == *voice.begun)));
    voice = {there, {}};
  }
  REQUIRE(library.blob_count() == large.size());
}

}  // namespace

TEST_CASE("a writer that is killed at any moment has lost nothing that it was told is kept", "[store][sqlite][crash]") {
  const Library library;
  const std::size_t rounds = cache::long_test("rounds of kill -9", 200, cache::kSanitized ? 6 : 24);
  std::map<std::uint64_t, Allowed> allowed;
  std::uint64_t dice = 7;
  std::uint64_t acknowledged = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const Pipe doomed_notes;
    const Pipe other_notes;
    const Pipe stop;
    const std::uint64_t seed = round + 1;
    ChildProcess doomed([&] { return write_voices(library.options, 0, 2 * seed, doomed_notes.ends[1], stop.ends[0]); });
    ChildProcess other(
        [&] { return write_voices(library.options, 100, 2 * seed + 1, other_notes.ends[1], stop.ends[0]); });
    pollfd begun{doomed_notes.ends[0], POLLIN, 0};
    REQUIRE(poll(&begun, 1, 60'000) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(roll(dice) % 40'000));
    doomed.kill_now();
    take_notes(doomed_notes, allowed);
    library.open().reset();  // sweeps, while the other one writes
    REQUIRE(::write(stop.ends[1], "x", 1) == 1);
    REQUIRE(other.wait() == 0);
    take_notes(other_notes, allowed);
    const auto store = library.open();
    verify(*store, library, allowed);
    acknowledged += allowed.size();
  }
  CHECK(acknowledged > rounds);
  CHECK(library.open()->check()->database.empty());
}

TEST_CASE("a loss of power takes nothing that was acknowledged, whichever writes had reached the disk",
          "[store][sqlite][crash]") {
  const std::size_t rounds = cache::long_test("losses of power", 300, cache::kSanitized ? 15 : 60);
  std::uint64_t dice = 11;
  std::uint64_t lost = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    Library library;
    PowerLossVfs disk;
    library.options.vfs = PowerLossVfs::name();
    std::map<std::uint64_t, Allowed> allowed;
    {
      const auto store = library.open();
      disk.cut_after(roll(dice) % 6000);
      for (std::uint64_t stamp = 1; !disk.is_cut(); ++stamp) {
        const std::uint64_t number = roll(dice) % 12;
        const bool is_removal = roll(dice) % 8 == 0;
        Allowed& voice = allowed[number];
        voice.begun = is_removal ? std::nullopt : std::optional(stamp);
        // Half a row's limit and more, so that checkpoints come often.
        const bool is_done = is_removal ? store->remove(id_of(number)).ok() || !disk.is_cut()
                                        : keep(*store, number, stamp, 320 + roll(dice) % 20'000).ok();
        if (!is_done) break;
        voice = {is_removal ? std::nullopt : std::optional(stamp), {}};
      }
    }
    disk.restore(round);
    lost += disk.lost_writes();
    library.options.vfs = nullptr;
    const auto store = library.open();
    verify(*store, library, allowed);
    REQUIRE(store->check()->database.empty());
    REQUIRE(keep(*store, 1, 9));
  }
  CHECK(lost > rounds);
}
