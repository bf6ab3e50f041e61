// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "status_of.hpp"
#include "timbre/timbre.hpp"

using timbre::test::status_of;

namespace {

timbre::Engine small_engine() {
  timbre::EngineConfig config;
  config.thread_count = 1;
  config.background = 0;
  config.device_cache_bytes = 1 << 20;
  config.policy = "s3fifo";
  return timbre::Engine(config);
}

std::vector<float> vector_of(float first) {
  std::vector<float> values(16);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::uint64_t put(const timbre::Engine& engine, const std::string& id, const std::vector<float>& values,
                  const timbre::PutOptions& options = {}) {
  const timbre::Tensor tensor("g", values);
  return engine.voices().put(id, timbre::VoiceRecord(std::span(&tensor, 1)), options);
}

std::vector<float> read(const timbre::VoiceLease& voice) {
  const std::span<const float> values = voice.tensor("g").values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

static_assert(std::is_nothrow_move_constructible_v<timbre::VoiceLease> &&
              std::is_nothrow_move_assignable_v<timbre::VoiceLease> &&
              !std::is_copy_constructible_v<timbre::VoiceLease>);
template <typename T>
concept HasTensor = requires(T voice) {
  std::forward<T>(voice).tensor("g");
};
static_assert(HasTensor<const timbre::VoiceLease&> && !HasTensor<timbre::VoiceLease>);  // no view of a lease that ends

TEST_CASE("a leased voice is what was put, and stays so while it is put again", "[wrapper][lease]") {
  const timbre::Engine engine = small_engine();
  const std::uint64_t first = put(engine, "v", vector_of(1));
  const timbre::VoiceLease old = engine.voices().get("v");
  const std::uint64_t second = put(engine, "v", vector_of(2));
  CHECK(second > first);
  CHECK(old.version() == first);
  CHECK(read(old) == vector_of(1));
  const timbre::VoiceLease now = engine.voices().get("v", 1000);
  CHECK(now.version() == second);
  CHECK(read(now) == vector_of(2));
  CHECK(now.info().size_bytes >= 64);
  CHECK(now.names() == std::vector<std::string>{"g"});
  const timbre::Tensor g = now.tensor("g");
  CHECK(std::vector(g.dimensions().begin(), g.dimensions().end()) == std::vector<std::int64_t>{16});
  CHECK(g.bytes().size() == 64);
  CHECK(status_of([&] { (void)g.values<std::int32_t>(); }) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(status_of([&] { (void)now.tensor("h"); }) == TIMBRE_ERR_NOT_FOUND);
}

TEST_CASE("a lease is given back once, whichever way", "[wrapper][lease]") {
  const timbre::Engine engine = small_engine();
  put(engine, "v", vector_of(1));
  timbre::VoiceLease voice = engine.voices().get("v");
  CHECK(engine.stats().leases == 1);
  timbre::VoiceLease moved = std::move(voice);
  CHECK(moved);
  moved.wait_on(0);
  moved.release();
  CHECK_FALSE(moved);
  CHECK(engine.stats().leases == 0);
  CHECK(status_of([&] { moved.release(); }) == TIMBRE_ERR_INVALID_ARGUMENT);
  moved = engine.voices().get("v");
  moved = engine.voices().get("v");
  CHECK(engine.stats().leases == 1);
  CHECK(status_of([&] { moved.release_on(77); }) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(moved);
  moved.release_on(0);
  { const timbre::VoiceLease dropped = engine.voices().get("v"); }
  CHECK(engine.stats().leases == 0);
}

TEST_CASE("a lease outlives its engine", "[wrapper][lease]") {
  auto engine = std::make_unique<timbre::Engine>(small_engine());
  put(*engine, "v", vector_of(3));
  timbre::VoiceLease voice = engine->voices().get("v");
  engine.reset();
  CHECK(read(voice) == vector_of(3));
  voice.release();
}

TEST_CASE("try_get ends in a lease, and a miss is an error", "[wrapper][lease]") {
  const timbre::Engine engine = small_engine();
  put(engine, "v", vector_of(4));
  std::optional<timbre::VoiceLease> voice;
  while (!(voice = engine.voices().try_get("v"))) engine.poll(10);
  CHECK(read(*voice) == vector_of(4));
  CHECK(status_of([&] { (void)engine.voices().get("nobody"); }) == TIMBRE_ERR_NOT_FOUND);
}

TEST_CASE("a batch gives each row its own answer", "[wrapper][lease]") {
  const timbre::Engine engine = small_engine();
  put(engine, "a", vector_of(1));
  put(engine, "b", vector_of(2));
  const std::vector<std::string> ids{"a", "nobody", "b", "a"};
  std::vector<timbre::BatchRow> rows = engine.voices().get_batch(ids);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].status == TIMBRE_ERR_NOT_FOUND);
  CHECK_FALSE(rows[1].lease);
  CHECK(read(rows[0].lease) == vector_of(1));
  CHECK(read(rows[2].lease) == vector_of(2));
  CHECK(read(rows[3].lease) == vector_of(1));
  CHECK(engine.stats().leases == 3);
  rows.clear();
  CHECK(engine.stats().leases == 0);
  CHECK(engine.voices().get_batch({}).empty());
}

TEST_CASE("a put that expects another version is a conflict", "[wrapper][voices]") {
  const timbre::Engine engine = small_engine();
  timbre::PutOptions options;
  options.expected_version = 0;
  const std::uint64_t first = put(engine, "v", vector_of(1), options);
  CHECK(status_of([&] { put(engine, "v", vector_of(2), options); }) == TIMBRE_ERR_CONFLICT);
  CHECK(read(engine.voices().get("v")) == vector_of(1));
  options.expected_version = first;
  CHECK(put(engine, "v", vector_of(2), options) > first);
}

TEST_CASE("voices are prefetched, trimmed and explained", "[wrapper][voices]") {
  const timbre::Engine engine = small_engine();
  put(engine, "a", vector_of(1));
  engine.voices().get("a").release();
  CHECK(engine.trim() > 0);
  timbre_voice_explanation why = engine.voices().explain("a");
  CHECK(why.tier == TIMBRE_TIER_STORE);
  CHECK(why.eviction_cause == TIMBRE_CAUSE_TRIM);
  engine.set_budget(0);
  engine.set_budget(1 << 20);  // a trim lowers the budget for a while; this ends it
  engine.poll();
  const std::vector<std::string> ids{"a", "nobody"};
  const timbre::Prefetched done = engine.voices().prefetch(ids, -1);
  CHECK(done.ready == 1);
  CHECK(done.failed == 1);
  CHECK_FALSE(done.pending);
  CHECK(engine.voices().explain("a").tier == TIMBRE_TIER_DEVICE);
  CHECK_FALSE(engine.voices().prefetch_top(4, -1).pending);
  CHECK(engine.voices().explain("nobody").tier == TIMBRE_TIER_NONE);
}

TEST_CASE("the budget can be set, and health tells of it", "[wrapper][voices]") {
  const timbre::Engine engine = small_engine();
  CHECK(engine.health().cap_bytes == 1 << 20);
  engine.set_budget(0);
  CHECK(engine.health().cap_bytes == 0);
  CHECK(engine.health().reason != nullptr);
  put(engine, "v", vector_of(5));
  CHECK(read(engine.voices().get("v")) == vector_of(5));  // slower, but it works
  engine.poll();
}

TEST_CASE("a request names a held lease, and speaks that version", "[wrapper][lease]") {
  const timbre::Engine engine = small_engine();
  const timbre::Model model = engine.load("tone:");
  const std::vector<float> g = model.speaker_vector(2);
  const std::vector<float> other = model.speaker_vector(1);
  const timbre::Tensor first("g", g);
  const timbre::Tensor second("g", other);
  engine.voices().put("v", timbre::VoiceRecord(std::span(&first, 1), model.info().fingerprint));
  timbre::VoiceLease held = engine.voices().get("v");
  engine.voices().put("v", timbre::VoiceRecord(std::span(&second, 1), model.info().fingerprint));
  timbre::Request request("halt!");
  request.set_lease(held);
  timbre::Speech speech = model.speak(request);
  held.release();  // the utterance has a lease of its own
  timbre::Request by_index("halt!");
  by_index.speaker = 2;
  CHECK(speech.read_all() == model.speak(by_index).read_all());
}

TEST_CASE("an export is a lease of its own", "[wrapper][lease]") {
  struct Managed {  // DLManagedTensorVersioned
    std::uint32_t version[2];
    void* context;
    void (*deleter)(void*);
    std::uint64_t flags;
    void* data;
  };
  auto engine = std::make_unique<timbre::Engine>(small_engine());
  put(*engine, "v", vector_of(6));
  timbre::VoiceLease voice = engine->voices().get("v");
  auto* managed = static_cast<Managed*>(voice.dlpack("g"));
  voice.release();
  CHECK(engine->stats().leases == 1);
  CHECK(managed->version[0] == 1);
  CHECK((managed->flags & 1) == 1);
  engine.reset();
  float values[16];
  std::memcpy(values, managed->data, sizeof values);
  CHECK(std::equal(values, values + 16, vector_of(6).begin()));
  managed->deleter(managed);
}
