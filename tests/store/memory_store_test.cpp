// SPDX-License-Identifier: MIT
#include "store/memory_store.hpp"

#include <catch2/catch.hpp>

using timbre::Status;
using timbre::store::Expected;
using timbre::store::MemoryStore;
using timbre::voice::VoiceRecord;

TEST_CASE("a reader keeps its version through a re-put and a removal", "[store]") {
  MemoryStore store;
  VoiceRecord first;
  first.note = "first";
  const std::uint64_t version = store.put("v", first)->sequence;
  const auto held = store.read("v");
  REQUIRE(held);
  VoiceRecord second;
  second.note = "second";
  REQUIRE(store.put("v", second)->sequence > version);
  REQUIRE(held->record->note == "first");
  REQUIRE(held->version.sequence == version);
  REQUIRE(store.read("v")->record->note == "second");
  REQUIRE(store.remove("v"));
  REQUIRE(held->record->note == "first");
  REQUIRE(store.read("v").error().status == Status::kNotFound);
}

TEST_CASE("versions are never used again, not even after a removal", "[store]") {
  MemoryStore store;
  const std::uint64_t first = store.put("v", {})->sequence;
  REQUIRE(store.remove("v"));
  REQUIRE(store.put("v", {})->sequence > first);
}

TEST_CASE("ids are compared in full", "[store]") {
  MemoryStore store;
  REQUIRE(store.put("voice", {}));
  for (const char* other : {"voic", "voice ", "Voice", "voice2"}) {
    REQUIRE(store.read(other).error().status == Status::kNotFound);
    REQUIRE(store.remove(other).error().message.find(other) != std::string::npos);
  }
}

TEST_CASE("a page begins after the cursor, within the prefix, in byte order", "[store]") {
  MemoryStore store;
  for (const char* id : {"b", "a", "a/2", "a/1", "a/10", "\xC3\xA4"}) REQUIRE(store.put(id, {}));
  using Ids = std::vector<std::string>;
  REQUIRE(*store.list("", "", 99) == Ids{"a", "a/1", "a/10", "a/2", "b", "\xC3\xA4"});
  REQUIRE(*store.list("a/", "", 2) == Ids{"a/1", "a/10"});
  REQUIRE(*store.list("a/", "a/10", 2) == Ids{"a/2"});
  REQUIRE(store.list("a/", "a/2", 2)->empty());
  REQUIRE(*store.list("a/", "0", 9) == Ids{"a/1", "a/10", "a/2"});
  REQUIRE(store.list("x", "", 9)->empty());
}

TEST_CASE("a put that expects another version changes nothing and names both", "[store]") {
  MemoryStore store;
  VoiceRecord first;
  first.note = "first";
  const auto none = store.put("v", first, Expected{1, {}});
  REQUIRE(none.error().status == Status::kConflict);
  const auto made = store.put("v", first, Expected{});
  REQUIRE(made);
  const auto again = store.put("v", {}, Expected{});
  REQUIRE(again.error().status == Status::kConflict);
  REQUIRE(again.error().message == "voice 'v': expected version 0, found 1");
  REQUIRE(store.put("v", {}, Expected{1, made->checksum + 1}).error().status == Status::kConflict);
  REQUIRE(store.read("v")->record->note == "first");
  REQUIRE(store.put("v", {}, Expected{1, made->checksum})->sequence == 2);
}

TEST_CASE("a load is done at its first pump and answers with what is there then", "[store]") {
  MemoryStore store;
  auto load = store.begin_load("v");
  REQUIRE(load);
  const auto version = store.put("v", {});
  const auto done = (*load)->pump({});
  REQUIRE(done);
  REQUIRE((*done)->version == *version);
  REQUIRE((*store.begin_load("w"))->pump({}).error().status == Status::kNotFound);
}
