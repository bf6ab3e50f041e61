// SPDX-License-Identifier: MIT
//
// The engine: owns the worker threads, the voices and their cache.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "timbre/wrapper/model.hpp"
#include "timbre/wrapper/voices.hpp"

namespace timbre {

/// timbre_engine_config with its defaults.
struct EngineConfig : timbre_engine_config {
  EngineConfig() { check(timbre_engine_config_init(this, sizeof(timbre_engine_config))); }
};

/// One line of the engine's log.
struct LogLine {
  std::int32_t level = TIMBRE_LOG_INFO;
  std::string text;
};

/// Owns the worker threads and the voices. Destroying it cancels its utterances; models and utterances stay valid
/// objects that throw CLOSED.
class Engine {
 public:
  Engine() : handle_(create(nullptr)) {}
  explicit Engine(const EngineConfig& config) : handle_(create(&config)) {}
  [[nodiscard]] timbre_engine* get() const noexcept { return handle_.get(); }

  /// Blocks until the model is ready. An exception thrown by `options.progress` cancels the load and arrives here.
  [[nodiscard]] Model load(std::span<const ModelFile> files, const LoadOptions& options = {}) const {
    Progress progress{options.progress, nullptr};
    timbre_model_options c_options;
    check(timbre_model_options_init(&c_options, sizeof c_options));
    c_options.warm_up = options.warm_up ? 1 : 0;
    if (options.progress) {
      c_options.progress = &Progress::call;
      c_options.progress_user = &progress;
    }
    timbre_model* model = nullptr;
    const timbre_status status =
        timbre_model_load(get(), files.data(), files.size(), sizeof(ModelFile), &c_options, &model);
    if (progress.failure) {
      static_cast<void>(timbre_model_release(model));
      std::rethrow_exception(progress.failure);
    }
    check(status);
    return Model(model);
  }
  /// A single folder, .onnx file or "tone:".
  [[nodiscard]] Model load(const std::string& path, const LoadOptions& options = {}) const {
    const ModelFile file(path);
    return load(std::span(&file, 1), options);
  }

  /// The voices of this engine.
  [[nodiscard]] Voices voices() const noexcept { return Voices(get()); }

  /// The most bytes that cached voices may take; TIMBRE_AUTO_U64: what free memory allows.
  void set_budget(std::uint64_t device_bytes = TIMBRE_AUTO_U64, std::uint64_t host_bytes = TIMBRE_AUTO_U64) const {
    check(timbre_engine_set_budget(get(), device_bytes, host_bytes));
  }
  /// Gives memory of cached voices back, the coldest first. @return the bytes that went.
  std::uint64_t trim(std::uint64_t bytes = TIMBRE_AUTO_U64) const {
    std::uint64_t freed = 0;
    check(timbre_engine_trim(get(), bytes, &freed));
    return freed;
  }
  /// Does the background work of the cache, for an engine without a thread for it. -1: until nothing is left to do.
  void poll(std::int32_t timeout_ms = 0) const { check(timbre_engine_poll(get(), timeout_ms)); }

  [[nodiscard]] timbre_stats stats() const {
    timbre_stats stats{};
    stats.struct_size = sizeof stats;
    check(timbre_engine_stats(get(), &stats));
    return stats;
  }
  [[nodiscard]] timbre_health health() const {
    timbre_health health{};
    health.struct_size = sizeof health;
    check(timbre_engine_health(get(), &health));
    return health;
  }

  /// The oldest log line, or nothing.
  [[nodiscard]] std::optional<LogLine> next_log() const {
    std::array<char, 4096> text{};
    LogLine line;
    if (check(timbre_log_next(get(), text.data(), text.size(), &line.level)) == TIMBRE_DONE) return std::nullopt;
    line.text = text.data();
    return line;
  }

 private:
  struct Progress {
    const std::function<bool(float, const char*)>& function;
    std::exception_ptr failure;

    static std::int32_t call(void* user, float fraction, const char* stage) {
      auto* self = static_cast<Progress*>(user);
      try {
        return self->function(fraction, stage) ? 0 : 1;
      } catch (...) {
        self->failure = std::current_exception();
        return 1;
      }
    }
  };

  static timbre_engine* create(const timbre_engine_config* config) {
    timbre_engine* engine = nullptr;
    check(timbre_engine_create(config, &engine));
    return engine;
  }

  internal::Handle<timbre_engine, timbre_engine_destroy> handle_;
};

}  // namespace timbre
