// SPDX-License-Identifier: MIT
//
// Engines whose voices are in a library on disk.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "temporary_folder.hpp"
#include "timbre/timbre.h"

namespace {

class Engine {
 public:
  explicit Engine(const std::string& store, bool background = false) {
    timbre_engine_config config;
    REQUIRE(timbre_engine_config_init(&config, sizeof config) == TIMBRE_OK);
    config.thread_count = 1;
    config.store = store.c_str();
    config.background = background ? 1 : 0;
    const timbre_status made = timbre_engine_create(&config, &engine);
    INFO(timbre_last_error());
    REQUIRE(made == TIMBRE_OK);
  }
  ~Engine() { timbre_engine_destroy(engine); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  timbre_status put(const char* id, float value, bool ephemeral = false, std::uint64_t* version = nullptr) const {
    timbre_voice_record record;
    REQUIRE(timbre_voice_record_init(&record, sizeof record) == TIMBRE_OK);
    timbre_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = TIMBRE_DTYPE_F32;
    tensor.name = "g";
    tensor.data = &value;
    tensor.size_bytes = sizeof value;
    tensor.rank = 1;
    tensor.shape[0] = 1;
    record.tensors = &tensor;
    record.tensor_count = 1;
    timbre_voice_put_options options;
    REQUIRE(timbre_voice_put_options_init(&options, sizeof options) == TIMBRE_OK);
    options.ephemeral = ephemeral ? 1 : 0;
    return timbre_voice_put(engine, id, &record, &options, version);
  }

  /// The voice's only value, or the status as a negative number.
  [[nodiscard]] float value(const char* id) const {
    timbre_lease lease{};
    const timbre_status got = timbre_voice_get(engine, id, -1, &lease);
    if (got != TIMBRE_OK) return static_cast<float>(got);
    timbre_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    REQUIRE(timbre_voice_tensor(&lease, "g", &tensor) == TIMBRE_OK);
    const float value = *static_cast<const float*>(tensor.data);
    REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
    return value;
  }

  timbre_engine* engine = nullptr;
};

constexpr auto kNone = static_cast<float>(TIMBRE_ERR_NOT_FOUND);

}  // namespace

TEST_CASE("engines on one library see each other's puts and removals, also of what was not there", "[capi][store]") {
  const timbre::test::TemporaryFolder folder;
  const std::string store = "sqlite:" + (folder / "voices.db");
  const Engine one(store);
  const Engine two(store);
  REQUIRE(one.put("a", 1) == TIMBRE_OK);
  CHECK(two.value("a") == 1);
  CHECK(two.value("b") == kNone);
  REQUIRE(one.put("a", 2) == TIMBRE_OK);
  REQUIRE(one.put("b", 3) == TIMBRE_OK);
  CHECK(two.value("a") == 1);  // it has not looked yet
  CHECK(two.value("b") == kNone);
  REQUIRE(timbre_engine_poll(two.engine, 0) == TIMBRE_OK);
  CHECK(two.value("a") == 2);
  CHECK(two.value("b") == 3);
  REQUIRE(one.put("a", 4) == TIMBRE_OK);
  REQUIRE(timbre_engine_poll(one.engine, 0) == TIMBRE_OK);
  timbre_stats stats{};
  stats.struct_size = sizeof stats;
  REQUIRE(timbre_engine_stats(one.engine, &stats) == TIMBRE_OK);
  CHECK(stats.store_changes == 0);  // its own are no news
  REQUIRE(timbre_voice_remove(one.engine, "a") == TIMBRE_OK);
  REQUIRE(timbre_engine_poll(two.engine, 0) == TIMBRE_OK);
  CHECK(two.value("a") == kNone);
  REQUIRE(timbre_engine_stats(two.engine, &stats) == TIMBRE_OK);
  CHECK(stats.store_changes == 3);
  CHECK(stats.store_damaged_loads == 0);
  timbre_health health{};
  health.struct_size = sizeof health;
  REQUIRE(timbre_engine_health(two.engine, &health) == TIMBRE_OK);
  CHECK(health.store_read_only == 0);
  CHECK(health.store_failures == 0);
  CHECK(health.store_look_age_ms < 600'000);
}

TEST_CASE("the background thread sees others by itself", "[capi][store]") {
  const timbre::test::TemporaryFolder folder;
  const std::string store = "sqlite:" + (folder / "voices.db");
  const Engine one(store);
  const Engine two(store, true);
  REQUIRE(one.put("a", 1) == TIMBRE_OK);
  CHECK(two.value("a") == 1);
  REQUIRE(one.put("a", 2) == TIMBRE_OK);
  while (two.value("a") != 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST_CASE("an ephemeral voice is in this engine alone and is gone with it", "[capi][store]") {
  const timbre::test::TemporaryFolder folder;
  const std::string store = "sqlite:" + (folder / "voices.db");
  std::uint64_t stored = 0;
  std::uint64_t own = 0;
  {
    const Engine one(store);
    REQUIRE(one.put("a", 1, false, &stored) == TIMBRE_OK);
    REQUIRE(one.put("a", 2, true, &own) == TIMBRE_OK);
    REQUIRE(one.put("b", 5, true) == TIMBRE_OK);
    CHECK(own > stored);
    CHECK(one.value("a") == 2);
    CHECK(one.value("b") == 5);
    const Engine two(store);
    CHECK(two.value("a") == 1);
    CHECK(two.value("b") == kNone);
  }
  const Engine again(store);
  CHECK(again.value("a") == 1);
  CHECK(again.value("b") == kNone);
  CHECK(again.put("b", 6) == TIMBRE_OK);
}

TEST_CASE("a lease of a stored voice outlives its engine", "[capi][store]") {
  const timbre::test::TemporaryFolder folder;
  timbre_lease lease{};
  {
    const Engine engine("sqlite:" + (folder / "voices.db"));
    REQUIRE(engine.put("a", 7) == TIMBRE_OK);
    REQUIRE(timbre_voice_get(engine.engine, "a", -1, &lease) == TIMBRE_OK);
  }
  timbre_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  REQUIRE(timbre_voice_tensor(&lease, "g", &tensor) == TIMBRE_OK);
  CHECK(*static_cast<const float*>(tensor.data) == 7);
  CHECK(timbre_voice_release(&lease) == TIMBRE_OK);
}

TEST_CASE("callers that know no facts of the store get what they know", "[capi][store]") {
  const Engine engine("memory:");
  timbre_stats stats{};
  stats.struct_size = offsetof(timbre_stats, store_changes);
  stats.store_changes = 77;
  CHECK(timbre_engine_stats(engine.engine, &stats) == TIMBRE_OK);
  CHECK(stats.store_changes == 77);
  timbre_health health{};
  health.struct_size = offsetof(timbre_health, store_read_only);
  health.store_failures = 77;
  CHECK(timbre_engine_health(engine.engine, &health) == TIMBRE_OK);
  CHECK(health.store_failures == 77);
  health.struct_size = sizeof health;
  CHECK(timbre_engine_health(engine.engine, &health) == TIMBRE_OK);
  CHECK(health.store_look_age_ms == TIMBRE_AUTO_U64);
}
