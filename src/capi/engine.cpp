// SPDX-License-Identifier: MIT
//
// c/engine.h: configuration, creation and end of an engine, and its log.
#include "timbre/c/engine.h"

#include <sched.h>

#include "capi/arguments.hpp"
#include "capi/engine_state.hpp"

namespace timbre::capi {

template <>
inline constexpr std::uint32_t kFirstSize<timbre_engine_config> = offsetof(timbre_engine_config, device_cache_bytes);

namespace {

constexpr std::uint32_t kMaxThreads = 256;
constexpr std::uint32_t kMaxAutoThreads = 4;
constexpr std::size_t kMaxThreadNameBytes = 15;

timbre_engine_config default_config() {
  timbre_engine_config config{};
  config.struct_size = sizeof config;
  config.thread_count = TIMBRE_AUTO_U32;
  config.thread_nice = TIMBRE_AUTO_I32;
  config.thread_affinity = TIMBRE_AUTO_U64;
  config.device_cache_bytes = TIMBRE_AUTO_U64;
  config.host_cache_bytes = TIMBRE_AUTO_U64;
  config.background = 1;
  config.preheat_count = TIMBRE_AUTO_U64;
  return config;
}

std::uint32_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(CPU_COUNT(&cores), 1));
}

/// "auto", "cpu", "cuda", "cuda:N" -> whether the CPU stands in for a missing device.
Result<bool> read_device(const std::string& device, bool fallback) {
  if (device.empty() || device == "auto" || device == "cpu") return false;
  const bool cuda = device == "cuda" || (device.starts_with("cuda:") && device.size() > 5 && device.size() <= 9 &&
                                         device.find_first_not_of("0123456789", 5) == std::string::npos);
  if (!cuda) return invalid(fmt::format("device '{}' is none of auto, cpu, cuda, cuda:N", device));
  if (fallback) return true;
  return Error{Status::kNoDevice, fmt::format("device '{}': this build of timbre has no CUDA back end", device)};
}

Result<void> check_precision(std::int32_t precision) {
  if (precision == TIMBRE_PRECISION_AUTO || precision == TIMBRE_PRECISION_FP32) return {};
  if (precision == TIMBRE_PRECISION_BF16) return Error{Status::kUnsupported, "bf16 is not computed by this version"};
  return invalid(fmt::format("precision {} is unknown", precision));
}

Result<void> read_store(const timbre_engine_config& config, KeeperOptions& options) {
  Result<std::string> address = read_text(config.store, "store");
  if (!address) return std::move(address).error();
  if (!address->empty()) options.address = std::move(*address);
  if (config.preheat_count != TIMBRE_AUTO_U64) {
    if (config.preheat_count > bank::UseSketch::kTop) {
      return invalid(fmt::format("preheat_count {} is above {}", config.preheat_count, bank::UseSketch::kTop));
    }
    options.preheat_count = config.preheat_count;
  }
  return check_address(options.address);
}

Result<void> read_worker(const timbre_engine_config& config, speech::Executor::Options& worker) {
  if (config.thread_name != nullptr) {
    Result<std::string> name = read_text(config.thread_name, "thread_name");
    if (!name) return std::move(name).error();
    if (name->empty() || name->size() > kMaxThreadNameBytes) {
      return invalid(
          fmt::format("thread_name '{}' has {} bytes, expected 1..{}", *name, name->size(), kMaxThreadNameBytes));
    }
    worker.thread_name = std::move(*name);
  }
  worker.nice = read_auto(config.thread_nice);
  if (worker.nice && (*worker.nice < -20 || *worker.nice > 19)) {
    return invalid(fmt::format("thread_nice {} is outside -20..19", *worker.nice));
  }
  if (config.thread_affinity != TIMBRE_AUTO_U64) worker.affinity = config.thread_affinity;
  if (worker.affinity == std::uint64_t{0}) return invalid("thread_affinity 0 names no core");
  return {};
}

Result<cache::PolicyKind> read_policy(const char* given) {
  Result<std::string> policy = read_text(given, "policy");
  if (!policy) return std::move(policy).error();
  constexpr std::pair<std::string_view, cache::PolicyKind> kKinds[] = {{"", cache::PolicyKind::kAuto},
                                                                       {"auto", cache::PolicyKind::kAuto},
                                                                       {"lru", cache::PolicyKind::kLru},
                                                                       {"lfu", cache::PolicyKind::kLfu},
                                                                       {"s3fifo", cache::PolicyKind::kS3Fifo}};
  for (const auto& [name, kind] : kKinds) {
    if (*policy == name) return kind;
  }
  return invalid(fmt::format("policy '{}' is none of auto, lru, lfu, s3fifo", *policy));
}

Result<void> read_cache(const timbre_engine_config& config, EngineOptions& options) {
  if (config.device_cache_bytes != TIMBRE_AUTO_U64) options.tiers.device_cache_bytes = config.device_cache_bytes;
  if (Result<void> checked = check_host_bytes(config.host_cache_bytes, "host_cache_bytes"); !checked) return checked;
  Result<cache::PolicyKind> policy = read_policy(config.policy);
  if (!policy) return std::move(policy).error();
  options.tiers.policy = *policy;
  if (config.background != 0 && config.background != 1) {
    return invalid(fmt::format("background is {}, expected 0 or 1", config.background));
  }
  options.background = config.background == 1;
  return {};
}

Result<EngineOptions> read_config(const timbre_engine_config* given) {
  const timbre_engine_config defaults = default_config();
  Result<timbre_engine_config> config = given == nullptr ? defaults : read_struct(given, defaults, "config");
  if (!config) return std::move(config).error();
  EngineOptions options;
  const bool automatic = config->thread_count == TIMBRE_AUTO_U32;
  options.thread_count = automatic ? std::min(usable_cores(), kMaxAutoThreads) : config->thread_count;
  if (options.thread_count < 1 || options.thread_count > kMaxThreads) {
    return invalid(fmt::format("thread_count {} is outside 1..{}", options.thread_count, kMaxThreads));
  }
  Result<std::string> device = read_text(config->device, "device");
  if (!device) return std::move(device).error();
  Result<bool> fell_back = read_device(*device, config->allow_device_fallback != 0);
  if (!fell_back) return std::move(fell_back).error();
  options.fell_back = *fell_back;
  if (Result<void> checked = check_precision(config->precision); !checked) return std::move(checked).error();
  if (Result<void> read = read_store(*config, options.tiers.store); !read) return std::move(read).error();
  if (Result<void> read = read_worker(*config, options.worker); !read) return std::move(read).error();
  if (Result<void> read = read_cache(*config, options); !read) return std::move(read).error();
  Result<std::string> library = read_text(config->espeak_library, "espeak_library");
  if (!library) return std::move(library).error();
  Result<std::string> data = read_text(config->espeak_data, "espeak_data");
  if (!data) return std::move(data).error();
  options.espeak_library = std::move(*library);
  options.espeak_data = std::move(*data);
  return options;
}

/// Copies text with its closing zero, cut at a character.
void copy_cut(const std::string& text, char* out, std::uint64_t capacity) {
  std::size_t size = std::min<std::size_t>(text.size(), capacity - 1);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  std::memcpy(out, text.data(), size);
  out[size] = '\0';
}

}  // namespace
}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Result;
using timbre::Status;

extern "C" {

timbre_status timbre_engine_config_init(timbre_engine_config* config, uint32_t struct_size) {
  return guard([&] { return init_struct(config, struct_size, default_config()); });
}

timbre_status timbre_engine_create(const timbre_engine_config* config, timbre_engine** out_engine) {
  return guard([&]() -> Result<void> {
    if (out_engine == nullptr) return invalid("out_engine is NULL");
    *out_engine = nullptr;
    Result<EngineOptions> options = read_config(config);
    if (!options) return std::move(options).error();
    auto handle = std::make_unique<timbre_engine>();
    Result<std::shared_ptr<EngineState>> state = EngineState::start(std::move(*options));
    if (!state) return std::move(state).error();
    handle->state = std::move(*state);
    *out_engine = handle.release();
    return {};
  });
}

timbre_status timbre_engine_destroy(timbre_engine* engine) {
  return guard([&]() -> Result<void> {
    if (engine == nullptr) return {};
    engine->state->close();
    delete engine;
    return {};
  });
}

timbre_status timbre_log_next(timbre_engine* engine, char* out, uint64_t capacity, int32_t* out_level) {
  return guard([&]() -> Result<Status> {
    if (out == nullptr || capacity == 0) return invalid("out has no room");
    out[0] = '\0';
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const std::optional<LogLine> line = (*state)->log().next();
    if (!line) return Status::kDone;
    copy_cut(line->text, out, capacity);
    if (out_level != nullptr) *out_level = static_cast<int32_t>(line->level);
    return Status::kOk;
  });
}

}  // extern "C"
