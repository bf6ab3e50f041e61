// SPDX-License-Identifier: MIT
//
// c/voice.h and c/engine.h: leases on cached voices, their export, and the memory that they take.
#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers

namespace {

constexpr std::size_t kDim = 16;

/// What a consumer of DLPack 1.0 sees; written down here again, so that it is not the library's word alone.
struct DlManagedVersioned {
  std::uint32_t major, minor;
  void* manager;
  void (*deleter)(DlManagedVersioned*);
  std::uint64_t flags;
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t rank;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

/// An engine without a model whose cache may hold `bytes`.
class CacheEngine {
 public:
  explicit CacheEngine(std::uint64_t bytes = TIMBRE_AUTO_U64, std::int32_t background = 0) {
    timbre_engine_config config;
    REQUIRE(timbre_engine_config_init(&config, sizeof config) == TIMBRE_OK);
    config.thread_count = 1;
    config.device_cache_bytes = bytes;
    config.background = background;
    REQUIRE(timbre_engine_create(&config, &engine) == TIMBRE_OK);
  }
  ~CacheEngine() { end(); }
  CacheEngine(const CacheEngine&) = delete;
  CacheEngine& operator=(const CacheEngine&) = delete;
  void end() {
    timbre_engine_destroy(engine);
    engine = nullptr;
  }

  /// A vector whose every value is `value`.
  timbre_status put(const char* id, float value, std::uint64_t expected = TIMBRE_AUTO_U64,
                    std::uint64_t* version = nullptr) const {
    const std::vector<float> values(kDim, value);
    const timbre_tensor g = vector_tensor(values);
    timbre_voice_record record;
    REQUIRE(timbre_voice_record_init(&record, sizeof record) == TIMBRE_OK);
    record.tensors = &g;
    record.tensor_count = 1;
    timbre_voice_put_options options;
    REQUIRE(timbre_voice_put_options_init(&options, sizeof options) == TIMBRE_OK);
    options.expected_version = expected;
    return timbre_voice_put(engine, id, &record, &options, version);
  }
  [[nodiscard]] timbre_lease get(const char* id) const {
    timbre_lease lease{};
    const timbre_status status = timbre_voice_get(engine, id, -1, &lease);
    INFO(timbre_last_error());
    REQUIRE(status == TIMBRE_OK);
    REQUIRE(lease.owner != nullptr);
    return lease;
  }
  [[nodiscard]] timbre_stats stats() const {
    timbre_stats stats{};
    stats.struct_size = sizeof stats;
    REQUIRE(timbre_engine_stats(engine, &stats) == TIMBRE_OK);
    return stats;
  }
  [[nodiscard]] timbre_health health() const {
    timbre_health health{};
    health.struct_size = sizeof health;
    REQUIRE(timbre_engine_health(engine, &health) == TIMBRE_OK);
    return health;
  }
  [[nodiscard]] timbre_voice_explanation explain(const char* id) const {
    timbre_voice_explanation told{};
    told.struct_size = sizeof told;
    REQUIRE(timbre_voice_explain(engine, id, &told) == TIMBRE_OK);
    return told;
  }

  timbre_engine* engine = nullptr;
};

timbre_tensor tensor(const timbre_lease& lease, const char* name = "g") {
  timbre_tensor found{};
  found.struct_size = sizeof found;
  REQUIRE(timbre_voice_tensor(&lease, name, &found) == TIMBRE_OK);
  return found;
}

/// The one value of all of a voice's vector, or NaN where they differ.
float value_of(const timbre_lease& lease) {
  const timbre_tensor g = tensor(lease);
  REQUIRE(g.size_bytes == kDim * sizeof(float));
  const auto* values = static_cast<const float*>(g.data);
  for (std::size_t i = 1; i < kDim; ++i) {
    if (values[i] != values[0]) return std::numeric_limits<float>::quiet_NaN();
  }
  return values[0];
}

timbre_voice_details details(const timbre_lease& lease) {
  timbre_voice_details told{};
  told.struct_size = sizeof told;
  REQUIRE(timbre_voice_info(&lease, &told) == TIMBRE_OK);
  return told;
}

DlManagedVersioned* dlpack(const timbre_lease& lease) {
  void* managed = nullptr;
  const timbre_status status = timbre_voice_dlpack(&lease, "g", &managed);
  INFO(timbre_last_error());
  REQUIRE(status == TIMBRE_OK);
  return static_cast<DlManagedVersioned*>(managed);
}

}  // namespace

TEST_CASE("a leased voice tells its tensors, and is given back once, through whichever copy", "[capi][lease]") {
  const CacheEngine cache;
  std::uint64_t version = 0;
  REQUIRE(cache.put("npc/guard-7", 0.5F, TIMBRE_AUTO_U64, &version) == TIMBRE_OK);
  timbre_lease lease = cache.get("npc/guard-7");
  timbre_lease copy = lease;
  CHECK(value_of(lease) == 0.5F);
  const timbre_tensor g = tensor(lease);
  CHECK(g.dtype == TIMBRE_DTYPE_F32);
  CHECK(g.rank == 1);
  CHECK(g.shape[0] == kDim);
  CHECK(std::string(g.name) == "g");
  const timbre_voice_details told = details(lease);
  CHECK(told.version == version);
  CHECK(told.tensor_count == 1);
  CHECK(told.size_bytes == kDim * sizeof(float));
  CHECK(std::string(told.model_fingerprint).empty());
  CHECK(told.speaker == TIMBRE_AUTO_I32);
  const char* name = nullptr;
  REQUIRE(timbre_voice_tensor_name(&lease, 0, &name) == TIMBRE_OK);
  CHECK(std::string(name) == "g");
  CHECK(timbre_voice_tensor_name(&lease, 1, &name) == TIMBRE_ERR_INVALID_ARGUMENT);
  timbre_tensor none{};
  none.struct_size = sizeof none;
  CHECK(timbre_voice_tensor(&lease, "content", &none) == TIMBRE_ERR_NOT_FOUND);
  CHECK(std::string(timbre_last_error()) == "voice 'npc/guard-7' has no tensor 'content', it has 'g'");
  CHECK(cache.stats().leases == 1);

  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  CHECK(lease.owner == nullptr);
  CHECK(cache.stats().leases == 0);
  CHECK(timbre_voice_release(&lease) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_voice_release(&copy) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_voice_tensor(&copy, "g", &none) == TIMBRE_ERR_INVALID_ARGUMENT);
  timbre_lease again = cache.get("npc/guard-7");  // the slot is used again: the old token stays wrong
  CHECK(timbre_voice_release(&copy) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(value_of(again) == 0.5F);
  CHECK(timbre_voice_release(nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_voice_release(&again) == TIMBRE_OK);
}

TEST_CASE("there is never another voice in place of one that is not there", "[capi][lease]") {
  const CacheEngine cache;
  timbre_lease lease{&lease, 7};
  CHECK(timbre_voice_get(cache.engine, "nobody", -1, &lease) == TIMBRE_ERR_NOT_FOUND);
  CHECK(lease.owner == nullptr);
  CHECK(std::string(timbre_last_error()).find("nobody") != std::string::npos);
  CHECK(timbre_voice_try_get(cache.engine, "nobody", &lease) == TIMBRE_ERR_NOT_FOUND);
  CHECK(cache.explain("nobody").known_missing == 1);
  CHECK(cache.stats().negative_hits == 1);
  REQUIRE(cache.put("nobody", 1) == TIMBRE_OK);
  lease = cache.get("nobody");
  CHECK(value_of(lease) == 1);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);

  const std::string too_long(513, 'x');
  for (const char* bad : {"", "\xFF\xFE", too_long.c_str()}) {
    CHECK(timbre_voice_get(cache.engine, bad, 0, &lease) == TIMBRE_ERR_INVALID_ARGUMENT);
    CHECK(timbre_voice_try_get(cache.engine, bad, &lease) == TIMBRE_ERR_INVALID_ARGUMENT);
  }
  CHECK(timbre_voice_get(cache.engine, nullptr, 0, &lease) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_voice_get(cache.engine, "someone else", -2, &lease) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_voice_get(nullptr, "nobody", 0, &lease) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_voice_get(cache.engine, "nobody", 0, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a lease keeps its version while the voice is put again, removed, and the cache is emptied",
          "[capi][lease]") {
  const CacheEngine cache;
  REQUIRE(cache.put("a", 1) == TIMBRE_OK);
  timbre_lease first = cache.get("a");
  REQUIRE(cache.put("a", 2) == TIMBRE_OK);
  timbre_lease second = cache.get("a");
  CHECK(value_of(first) == 1);
  CHECK(value_of(second) == 2);
  CHECK(details(first).version < details(second).version);
  CHECK(cache.stats().retired_bytes > 0);
  REQUIRE(timbre_voice_remove(cache.engine, "a") == TIMBRE_OK);
  REQUIRE(timbre_engine_trim(cache.engine, TIMBRE_AUTO_U64, nullptr) == TIMBRE_OK);
  CHECK(value_of(first) == 1);
  CHECK(value_of(second) == 2);
  timbre_lease none{};
  CHECK(timbre_voice_get(cache.engine, "a", -1, &none) == TIMBRE_ERR_NOT_FOUND);
  CHECK(cache.explain("a").eviction_cause == TIMBRE_CAUSE_REMOVED);
  REQUIRE(timbre_voice_release(&first) == TIMBRE_OK);
  REQUIRE(timbre_voice_release(&second) == TIMBRE_OK);
  CHECK(cache.stats().retired_bytes == 0);
  CHECK(cache.stats().leased_bytes == 0);
}

TEST_CASE("leases and exports outlive their engine", "[capi][lease][lifetime]") {
  CacheEngine cache;
  REQUIRE(cache.put("a", 3) == TIMBRE_OK);
  timbre_lease lease = cache.get("a");
  timbre_lease early = cache.get("a");
  DlManagedVersioned* const before = dlpack(lease);
  cache.end();
  CHECK(value_of(lease) == 3);
  REQUIRE(timbre_voice_release(&early) == TIMBRE_OK);
  DlManagedVersioned* const after = dlpack(lease);
  timbre_lease copy = lease;
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  CHECK(timbre_voice_release(&copy) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(static_cast<float*>(before->data)[kDim - 1] == 3);
  before->deleter(before);
  CHECK(static_cast<float*>(after->data)[0] == 3);
  after->deleter(after);
}

TEST_CASE("a batch has a status for each row, whatever the others are", "[capi][lease][batch]") {
  const CacheEngine cache;
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.push_back("voice " + std::to_string(i));
    REQUIRE(cache.put(names.back().c_str(), static_cast<float>(i)) == TIMBRE_OK);
  }
  std::vector<const char*> ids;
  for (const std::string& name : names) ids.push_back(name.c_str());
  ids.push_back("voice 7");
  ids.push_back("nobody");
  ids.push_back("");
  ids.push_back(nullptr);
  std::vector<timbre_lease> leases(ids.size());
  std::vector<timbre_status> statuses(ids.size(), TIMBRE_ERR_INTERNAL);
  CHECK(timbre_voice_get_batch(cache.engine, ids.data(), ids.size(), -1, leases.data(), statuses.data()) ==
        TIMBRE_ERR_NOT_FOUND);
  CHECK(std::string(timbre_last_error()).find("nobody") != std::string::npos);
  for (std::size_t i = 0; i < 101; ++i) {
    CHECK(statuses[i] == TIMBRE_OK);
    CHECK(value_of(leases[i]) == static_cast<float>(i == 100 ? 7 : i));
    CHECK(timbre_voice_release(&leases[i]) == TIMBRE_OK);
  }
  CHECK(statuses[101] == TIMBRE_ERR_NOT_FOUND);
  CHECK(statuses[102] == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(statuses[103] == TIMBRE_ERR_INVALID_ARGUMENT);
  for (std::size_t i = 101; i < ids.size(); ++i) CHECK(leases[i].owner == nullptr);
  CHECK(cache.stats().leases == 0);
  CHECK(timbre_voice_get_batch(cache.engine, nullptr, 0, 0, nullptr, nullptr) == TIMBRE_OK);
  CHECK(timbre_voice_get_batch(cache.engine, nullptr, 2, 0, leases.data(), statuses.data()) ==
        TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a put that expects another version changes nothing", "[capi][voice]") {
  const CacheEngine cache;
  std::uint64_t first = 0;
  REQUIRE(cache.put("a", 1, 0, &first) == TIMBRE_OK);
  CHECK(cache.put("a", 2, 0) == TIMBRE_ERR_CONFLICT);
  CHECK(cache.put("a", 2, first + 1) == TIMBRE_ERR_CONFLICT);
  CHECK(std::string(timbre_last_error()).find("'a'") != std::string::npos);
  timbre_lease lease = cache.get("a");
  CHECK(value_of(lease) == 1);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  CHECK(cache.put("a", 2, first) == TIMBRE_OK);
  CHECK(cache.put("b", 2, first) == TIMBRE_ERR_CONFLICT);
}

TEST_CASE("a cache of no bytes serves every voice, outside its budget", "[capi][lease][budget]") {
  const CacheEngine cache(0);
  for (int i = 0; i < 20; ++i)
    REQUIRE(cache.put(("v" + std::to_string(i)).c_str(), static_cast<float>(i)) == TIMBRE_OK);
  std::vector<timbre_lease> leases;
  for (int i = 0; i < 20; ++i) leases.push_back(cache.get(("v" + std::to_string(i)).c_str()));
  CHECK(cache.stats().budget_bytes == 0);
  CHECK(cache.stats().transient_bytes > 0);
  for (std::size_t i = 0; i < leases.size(); ++i) CHECK(value_of(leases[i]) == static_cast<float>(i));
  for (timbre_lease& lease : leases) REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  CHECK(cache.stats().transient_bytes == 0);
  CHECK(cache.stats().held_bytes == 0);
}

TEST_CASE("a smaller budget and a trim give memory back, and the reason is told", "[capi][budget]") {
  const CacheEngine cache(64U << 20U);
  for (int i = 0; i < 4000; ++i) {
    const std::string id = "v" + std::to_string(i);
    REQUIRE(cache.put(id.c_str(), static_cast<float>(i)) == TIMBRE_OK);
  }
  CHECK(timbre_engine_poll(cache.engine, 0) == TIMBRE_OK);
  const timbre_health full = cache.health();
  CHECK(full.total_bytes > 0);
  CHECK(full.readings > 0);
  CHECK(full.cap_bytes == 64U << 20U);
  CHECK(full.budget_bytes <= full.cap_bytes);
  const std::uint64_t held = cache.stats().held_bytes;
  CHECK(held >= 4000 * 256);
  timbre_lease lease = cache.get("v3999");
  std::uint64_t freed = 0;
  REQUIRE(timbre_engine_trim(cache.engine, held / 2, &freed) == TIMBRE_OK);
  CHECK(freed >= held / 2);
  CHECK(cache.stats().held_bytes == held - freed);
  CHECK(cache.stats().evicted_for_trim > 0);
  CHECK(std::string(cache.health().change_reason) == "trim");

  REQUIRE(timbre_engine_set_budget(cache.engine, 0, TIMBRE_AUTO_U64) == TIMBRE_OK);
  CHECK(cache.health().budget_bytes == 0);
  CHECK(cache.stats().evicted_for_budget > 0);
  CHECK(cache.stats().held_bytes > 0);  // the page of the lease
  CHECK(value_of(lease) == 3999);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  CHECK(timbre_engine_set_budget(cache.engine, 0, 1) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_engine_poll(cache.engine, -2) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("the cache's part of a configuration is checked", "[capi][engine]") {
  timbre_engine_config config;
  timbre_engine* engine = nullptr;
  const auto refused = [&](auto change) {
    REQUIRE(timbre_engine_config_init(&config, sizeof config) == TIMBRE_OK);
    change();
    return timbre_engine_create(&config, &engine);
  };
  CHECK(refused([&] { config.host_cache_bytes = 1; }) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(std::string(timbre_last_error()).find("host_cache_bytes") != std::string::npos);
  CHECK(refused([&] { config.policy = "mru"; }) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(std::string(timbre_last_error()) == "policy 'mru' is none of auto, lru, lfu, s3fifo");
  CHECK(refused([&] { config.background = 2; }) == TIMBRE_ERR_INVALID_ARGUMENT);
  for (const char* policy : {"auto", "lru", "lfu", "s3fifo"}) {
    REQUIRE(refused([&] { config.policy = policy; }) == TIMBRE_OK);
    CHECK(timbre_engine_destroy(engine) == TIMBRE_OK);
  }
  REQUIRE(timbre_engine_config_init(&config, sizeof config) == TIMBRE_OK);
  config.struct_size = offsetof(timbre_engine_config, device_cache_bytes);  // of the first version
  config.policy = "mru";
  REQUIRE(timbre_engine_create(&config, &engine) == TIMBRE_OK);
  CHECK(timbre_engine_destroy(engine) == TIMBRE_OK);
}

TEST_CASE("an explanation tells tier, version, leases and why a voice went", "[capi][explain]") {
  const CacheEngine cache(64U << 20U);
  CHECK(cache.explain("a").tier == TIMBRE_TIER_NONE);
  std::uint64_t version = 0;
  REQUIRE(cache.put("a", 1, 0, &version) == TIMBRE_OK);
  timbre_lease lease = cache.get("a");
  timbre_voice_explanation told = cache.explain("a");
  CHECK(told.tier == TIMBRE_TIER_DEVICE);
  CHECK(told.version == version);
  CHECK(told.leases == 1);
  CHECK(told.size_bytes == kDim * sizeof(float));
  CHECK(told.eviction_cause == TIMBRE_CAUSE_NONE);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  REQUIRE(timbre_engine_trim(cache.engine, TIMBRE_AUTO_U64, nullptr) == TIMBRE_OK);
  told = cache.explain("a");
  CHECK(told.tier == TIMBRE_TIER_STORE);
  CHECK(told.version == version);
  CHECK(told.eviction_cause == TIMBRE_CAUSE_TRIM);
  told.struct_size = 4;
  CHECK(timbre_voice_explain(cache.engine, "a", &told) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a prefetch brings voices in and tells which are not to be had", "[capi][prefetch]") {
  const CacheEngine cache(64U << 20U);
  for (const char* id : {"a", "b", "c"}) REQUIRE(cache.put(id, 1) == TIMBRE_OK);
  for (int i = 0; i < 64; ++i) {
    for (const char* id : {"a", "b", "c"}) {
      timbre_lease lease = cache.get(id);
      REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
    }
  }
  REQUIRE(timbre_engine_set_budget(cache.engine, 0, TIMBRE_AUTO_U64) == TIMBRE_OK);
  REQUIRE(cache.stats().entries == 0);
  REQUIRE(timbre_engine_set_budget(cache.engine, 64U << 20U, TIMBRE_AUTO_U64) == TIMBRE_OK);
  REQUIRE(timbre_engine_poll(cache.engine, 0) == TIMBRE_OK);
  REQUIRE(cache.health().budget_bytes > 1U << 20U);
  const char* const ids[] = {"a", "b", "nobody"};
  std::uint64_t ready = 0;
  std::uint64_t failed = 0;
  REQUIRE(timbre_voice_prefetch(cache.engine, ids, 3, 1000, &ready, &failed) == TIMBRE_OK);
  CHECK(ready == 2);
  CHECK(failed == 1);
  CHECK(cache.explain("a").tier == TIMBRE_TIER_DEVICE);
  char line[256];
  std::int32_t level = 0;
  REQUIRE(timbre_log_next(cache.engine, line, sizeof line, &level) == TIMBRE_OK);
  CHECK(std::string(line).find("nobody") != std::string::npos);
  REQUIRE(timbre_voice_prefetch_top(cache.engine, 3, 1000, &ready, &failed) == TIMBRE_OK);
  CHECK(failed == 0);
  CHECK(ready == 3);
  CHECK(cache.explain("c").tier == TIMBRE_TIER_DEVICE);
}

TEST_CASE("an export is read-only, a lease of its own, and dropped from the cache if somebody writes into it",
          "[capi][dlpack]") {
  const CacheEngine cache;
  REQUIRE(cache.put("a", 1) == TIMBRE_OK);
  timbre_lease lease = cache.get("a");
  DlManagedVersioned* exported = dlpack(lease);
  CHECK(exported->major == 1);
  CHECK(exported->flags == 1);
  CHECK(exported->device_type == 1);
  CHECK(exported->rank == 1);
  CHECK(exported->shape[0] == kDim);
  CHECK(exported->strides[0] == 1);
  CHECK((exported->code == 2 && exported->bits == 32 && exported->lanes == 1));
  CHECK(exported->data == tensor(lease).data);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  CHECK(cache.stats().leases == 1);
  exported->deleter(exported);
  CHECK(cache.stats().leases == 0);
  CHECK(cache.stats().written_exports == 0);
  CHECK(cache.explain("a").tier == TIMBRE_TIER_DEVICE);

  lease = cache.get("a");
  exported = dlpack(lease);
  DlManagedVersioned* const other = dlpack(lease);
  static_cast<float*>(exported->data)[3] = 99;
  exported->deleter(exported);
  CHECK(cache.stats().written_exports == 1);
  CHECK(cache.explain("a").tier == TIMBRE_TIER_STORE);
  other->deleter(other);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
  lease = cache.get("a");
  CHECK(value_of(lease) == 1);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
}

TEST_CASE("a lease is given back on a stream of its device", "[capi][lease][stream]") {
  const CacheEngine cache;
  REQUIRE(cache.put("a", 1) == TIMBRE_OK);
  timbre_lease lease = cache.get("a");
  CHECK(timbre_voice_wait_on(&lease, 0) == TIMBRE_OK);
  CHECK(timbre_voice_wait_on(&lease, 5) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(timbre_voice_release_on(&lease, 5) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(value_of(lease) == 1);
  CHECK(timbre_voice_release_on(&lease, 0) == TIMBRE_OK);
  CHECK(cache.stats().leases == 0);
  CHECK(timbre_voice_release_on(&lease, 0) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a request may name a held lease, and speaks with that version", "[capi][lease][speech]") {
  ToneEngine tone;
  const auto put = [&](float value) {
    const std::vector<float> values(kDim, value);
    const timbre_tensor g = vector_tensor(values);
    timbre_voice_record record;
    REQUIRE(timbre_voice_record_init(&record, sizeof record) == TIMBRE_OK);
    record.tensors = &g;
    record.tensor_count = 1;
    record.model_fingerprint = info(tone.model).fingerprint;
    REQUIRE(timbre_voice_put(tone.engine, "a", &record, nullptr, nullptr) == TIMBRE_OK);
  };
  put(0.25F);
  timbre_speech_request request = text_request("hello there");
  request.voice = "a";
  const std::vector<float> first = speak(tone.model, request);
  timbre_lease lease{};
  REQUIRE(timbre_voice_get(tone.engine, "a", -1, &lease) == TIMBRE_OK);
  put(0.75F);
  const std::vector<float> second = speak(tone.model, request);
  CHECK(first != second);
  request.voice = nullptr;
  request.lease = &lease;
  timbre_speech* const speech = open(tone.model, request);
  const std::uint64_t version = details(lease).version;
  timbre_lease used = lease;
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);  // the utterance has taken what it needs
  timbre_status status = TIMBRE_OK;
  CHECK(read_all(speech, 4096, status) == first);
  CHECK(info(speech).voice_version == version);
  REQUIRE(timbre_speech_close(speech) == TIMBRE_OK);

  timbre_speech* none = nullptr;
  request.lease = &used;
  CHECK(timbre_speech_open(tone.model, &request, &none) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_voice_get(tone.engine, "a", -1, &lease) == TIMBRE_OK);
  request.lease = &lease;
  request.voice = "a";
  CHECK(timbre_speech_open(tone.model, &request, &none) == TIMBRE_ERR_INVALID_ARGUMENT);
  request.voice = nullptr;
  request.speaker = 1;
  CHECK(timbre_speech_open(tone.model, &request, &none) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);

  const CacheEngine other;
  REQUIRE(other.put("a", 1) == TIMBRE_OK);
  lease = other.get("a");
  request.speaker = TIMBRE_AUTO_I32;
  CHECK(timbre_speech_open(tone.model, &request, &none) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(std::string(timbre_last_error()) == "the lease is another engine's");
  REQUIRE(timbre_voice_release(&lease) == TIMBRE_OK);
}
