// SPDX-License-Identifier: MIT
//
// What every store promises: docs of VoiceStore.
#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "store/memory_store.hpp"
#include "store/overlay_store.hpp"
#include "store/sqlite_store.hpp"
#include "temporary_folder.hpp"
#include "voice/record_samples.hpp"

using namespace timbre;         // NOLINT: a test
using namespace timbre::store;  // NOLINT: a test
using test::stamp_in;
using test::stamped_record;

namespace {

/// A store of each kind.
class AnyStore {
 public:
  explicit AnyStore(const std::string& kind) {
    if (kind == "memory") {
      store_ = std::make_unique<MemoryStore>();
      return;
    }
    SqliteOptions options;
    options.path = folder_ / "voices.db";
    if (kind == "sqlite files") options.blob_bytes = 1;
    auto opened = SqliteStore::open(options);
    INFO((opened ? std::string() : opened.error().message));
    REQUIRE(opened);
    store_ = std::move(*opened);
    if (kind == "overlay") store_ = std::make_unique<OverlayStore>(*(below_ = std::move(store_)));
  }
  VoiceStore* operator->() { return store_.get(); }

  Result<StoredVoice> read(std::string_view id) {
    auto load = store_->begin_load(id);
    REQUIRE(load);
    auto voice = (*load)->pump(Deadline::max());
    if (!voice) return std::move(voice).error();
    REQUIRE(*voice);
    return std::move(**voice);
  }

 private:
  test::TemporaryFolder folder_;
  std::unique_ptr<VoiceStore> below_;
  std::unique_ptr<VoiceStore> store_;
};

AnyStore any_store() { return AnyStore(GENERATE(as<std::string>{}, "memory", "sqlite", "sqlite files", "overlay")); }

}  // namespace

TEST_CASE("what is put is read again, whole, until it is removed", "[store][contract]") {
  AnyStore store = any_store();
  const auto version = store->put("v", test::full_record(), {});
  REQUIRE(version);
  const auto read = store.read("v");
  REQUIRE(read);
  CHECK(read->version == *version);
  CHECK(read->record->note == "\xC3\xA4 note");
  CHECK(read->record->speaker == 3);
  REQUIRE(read->record->tensors.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(read->record->tensors[i].data == test::full_record().tensors[i].data);
  REQUIRE(store->remove("v"));
  CHECK(store.read("v").error().status == Status::kNotFound);
  CHECK(store->remove("v").error().status == Status::kNotFound);
  CHECK(read->record->speaker == 3);
}

TEST_CASE("versions rise with each put and are never used again, not even after a removal", "[store][contract]") {
  AnyStore store = any_store();
  std::uint64_t last = 0;
  for (std::uint64_t stamp = 1; stamp < 6; ++stamp) {
    const auto version = store->put("v", stamped_record(1, stamp), {});
    REQUIRE(version);
    CHECK(version->sequence > last);
    last = version->sequence;
    CHECK(stamp_in(*store.read("v")->record, 1) == stamp);
    if (stamp == 3) REQUIRE(store->remove("v"));
  }
}

TEST_CASE("a voice of any size is kept", "[store][contract]") {
  AnyStore store = any_store();
  for (const std::size_t count : {2UL, 320UL, 24'900UL, 25'100UL, 700'000UL}) {
    REQUIRE(store->put(std::to_string(count), stamped_record(count, 7, count), {}));
  }
  for (const std::size_t count : {2UL, 320UL, 24'900UL, 25'100UL, 700'000UL}) {
    CHECK(stamp_in(*store.read(std::to_string(count))->record, count) == 7);
  }
}

TEST_CASE("ids are compared in full and may hold any bytes", "[store][contract]") {
  AnyStore store = any_store();
  const std::string zero("a\0b", 3);
  const std::string longest(512, 'x');
  for (const std::string& id : {std::string("voice"), zero, longest}) REQUIRE(store->put(id, stamped_record(1, 1), {}));
  for (const char* other : {"voic", "voice ", "Voice", "voice2", "a", "%", "a' OR '1'='1"}) {
    CHECK(store.read(other).error().status == Status::kNotFound);
    CHECK(store->remove(other).error().message.find(other) != std::string::npos);
  }
  CHECK(store.read(zero));
  CHECK(store.read(longest));
}

TEST_CASE("a page begins after the cursor, within the prefix, in the order of bytes", "[store][contract]") {
  AnyStore store = any_store();
  for (const char* id : {"b", "a", "a/2", "a/1", "a/10", "\xC3\xA4"}) {
    REQUIRE(store->put(id, stamped_record(1, 1), {}));
  }
  using Ids = std::vector<std::string>;
  CHECK(*store->list("", "", 99) == Ids{"a", "a/1", "a/10", "a/2", "b", "\xC3\xA4"});
  CHECK(*store->list("a/", "", 2) == Ids{"a/1", "a/10"});
  CHECK(*store->list("a/", "a/10", 2) == Ids{"a/2"});
  CHECK(store->list("a/", "a/2", 2)->empty());
  CHECK(*store->list("a/", "0", 9) == Ids{"a/1", "a/10", "a/2"});
  CHECK(store->list("x", "", 9)->empty());
  CHECK(store->list("", "", 0)->empty());
}

TEST_CASE("a put that expects another version changes nothing and names both", "[store][contract]") {
  AnyStore store = any_store();
  CHECK(store->put("v", stamped_record(1, 1), Expected{1, {}}).error().status == Status::kConflict);
  CHECK(store.read("v").error().status == Status::kNotFound);
  const auto made = store->put("v", stamped_record(1, 2), Expected{});
  REQUIRE(made);
  const auto again = store->put("v", stamped_record(1, 3), Expected{});
  CHECK(again.error().status == Status::kConflict);
  CHECK(again.error().message == "voice 'v': expected version 0, found " + std::to_string(made->sequence));
  const Expected other_bytes{made->sequence, made->checksum + 1};
  CHECK(store->put("v", stamped_record(1, 4), other_bytes).error().status == Status::kConflict);
  CHECK(stamp_in(*store.read("v")->record, 1) == 2);
  CHECK(store->put("v", stamped_record(1, 5), Expected{made->sequence, made->checksum}));
  CHECK(stamp_in(*store.read("v")->record, 1) == 5);
}

TEST_CASE("a load answers with what is there after it began", "[store][contract]") {
  AnyStore store = any_store();
  auto load = store->begin_load("v");
  REQUIRE(load);
  const auto version = store->put("v", stamped_record(1, 1), {});
  const auto done = (*load)->pump(Deadline::max());
  REQUIRE(done);
  CHECK((*done)->version == *version);
  CHECK((*store->begin_load("w"))->pump({}).error().status == Status::kNotFound);
}

TEST_CASE("threads put, read and remove at once, and no read is torn", "[store][contract]") {
  AnyStore store = any_store();
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> bad{0};
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (std::uint64_t stamp = 1; stamp <= 30; ++stamp) {
        const std::uint64_t number = stamp % 3;
        if (stamp % 7 == 0) {
          static_cast<void>(store->remove(std::to_string(number)).ok());
        } else if (!store->put(std::to_string(number), stamped_record(number, writer * 100 + stamp), {})) {
          ++bad;
        }
      }
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const auto load = store->begin_load(std::to_string(i % 3));
        const auto voice = (*load)->pump(Deadline::max());
        const bool is_good = voice ? voice->has_value() && stamp_in(*(*voice)->record, i % 3).has_value()
                                   : voice.error().status == Status::kNotFound;
        if (!is_good) ++bad;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(bad == 0);
}

TEST_CASE("an ephemeral voice hides the stored one and is never written", "[store][overlay]") {
  test::TemporaryFolder folder;
  SqliteOptions options;
  options.path = folder / "voices.db";
  auto below = SqliteStore::open(options);
  REQUIRE(below);
  OverlayStore store(**below);
  const auto read = [&](VoiceStore& from) {
    const auto load = from.begin_load("v");
    const auto voice = (*load)->pump(Deadline::max());
    return voice ? stamp_in(*(*voice)->record, 1) : std::nullopt;
  };
  const auto stored = store.put("v", stamped_record(1, 1));
  REQUIRE(stored);
  CHECK(store.ephemeral().put("v", stamped_record(1, 2), Expected{}).error().status == Status::kConflict);
  const auto own = store.ephemeral().put("v", stamped_record(1, 2), Expected{stored->sequence, {}});
  REQUIRE(own);
  CHECK(own->sequence > stored->sequence);
  CHECK(read(store) == 2);
  CHECK(read(**below) == 1);
  REQUIRE(store.ephemeral().put("u", stamped_record(1, 9), {}));
  CHECK(*store.list("", "", 9) == std::vector<std::string>{"u", "v"});
  CHECK(*(*below)->list("", "", 9) == std::vector<std::string>{"v"});
  SECTION("until it is stored") {
    CHECK(store.put("v", stamped_record(1, 3), Expected{stored->sequence, {}}).error().status == Status::kConflict);
    REQUIRE(store.put("v", stamped_record(1, 3), Expected{own->sequence, own->checksum}));
    CHECK(read(store) == 3);
    CHECK(read(**below) == 3);
  }
  SECTION("until it is removed, which ends both") {
    REQUIRE(store.remove("v"));
    CHECK_FALSE(read(store));
    CHECK_FALSE(read(**below));
    REQUIRE(store.remove("u"));
    CHECK(store.remove("u").error().status == Status::kNotFound);
  }
}
