// SPDX-License-Identifier: MIT
#include "store/memory_store.hpp"

#include <catch2/catch.hpp>

using timbre::Status;
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
