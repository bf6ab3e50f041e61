// SPDX-License-Identifier: MIT
//
// EngineState: what an engine owns. Handles share it, so that a handle outlives timbre_engine_destroy and answers
// CLOSED.
//
// Invariants
//   * close() happens once: streams are cancelled and waits for voices end, then the threads are joined. Nothing runs
//     afterwards.
//   * Leases outlive it: with it the book of leases retires.
//   * Streams and models are known weakly: their handles own them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capi/background.hpp"
#include "capi/lease_book.hpp"
#include "capi/log.hpp"
#include "capi/process.hpp"
#include "capi/voice_tiers.hpp"
#include "frontend/phonemizer.hpp"
#include "speech/executor.hpp"
#include "speech/speech_stream.hpp"

namespace timbre::capi {

/// An engine's configuration, owned and checked.
struct EngineOptions {
  std::uint32_t thread_count = 1;
  speech::Executor::Options worker;
  std::string espeak_library;
  std::string espeak_data;
  bool fell_back = false;  ///< a device was asked for that is not there, and the CPU allowed
  TiersOptions tiers;
  bool background = true;  ///< a thread for the background work of the cache
};

class EngineState final : public StopAtExit, public std::enable_shared_from_this<EngineState> {
 public:
  static Result<std::shared_ptr<EngineState>> start(EngineOptions options);
  ~EngineState() override;

  [[nodiscard]] bool closed() const { return closed_.load(); }
  /// Cancels everything and joins the worker. Idempotent; a second caller waits for the first.
  void close();
  void stop_at_exit() noexcept override;

  [[nodiscard]] const EngineOptions& options() const { return options_; }
  Log& log() { return *log_; }
  VoiceTiers& voices() { return *voices_; }
  /// Where speech gets its voices; keeps the tiers alive.
  [[nodiscard]] std::shared_ptr<voice::VoiceSource> voice_source() const { return {voices_, &voices_->source()}; }
  LeaseBook& leases() { return *leases_; }
  /// There is background work; without a thread for it the host polls.
  void wake_background() {
    if (background_) background_->wake();
  }
  speech::Executor& executor() { return *executor_; }

  /// The engine's phonemizer, opened at first need.
  Result<std::shared_ptr<frontend::Phonemizer>> phonemizer();

  /// Registers a stream for close(); false (and the stream cancelled) when the engine is closed.
  bool add(const std::shared_ptr<speech::SpeechStream>& stream);
  void add(const std::shared_ptr<const speech::Model>& model);
  /// The live model of this fingerprint, or null.
  [[nodiscard]] std::shared_ptr<const speech::Model> find_model(std::string_view fingerprint);

  /// On the worker: prepares this engine's worker for a back end once.
  void enter_backend(speech::Backend& backend);

 private:
  explicit EngineState(EngineOptions options);

  EngineOptions options_;
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  std::shared_ptr<VoiceTiers> voices_;
  LeaseBook* leases_ = nullptr;  // owns itself, see there
  std::unique_ptr<speech::Executor> executor_;
  std::unique_ptr<Background> background_;
  std::atomic<bool> closed_{false};
  bool entered_backend_ = false;  // the worker's only

  std::mutex phonemizer_mutex_;
  std::shared_ptr<frontend::Phonemizer> phonemizer_;  // guarded by phonemizer_mutex_

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::weak_ptr<speech::SpeechStream>> streams_;
  std::vector<std::weak_ptr<const speech::Model>> models_;
};

}  // namespace timbre::capi

// What the opaque handles are.
struct timbre_engine {
  std::shared_ptr<timbre::capi::EngineState> state;
};

namespace timbre::capi {

/// The engine behind a handle; kInvalidArgument for NULL, kClosed after close.
inline Result<std::shared_ptr<EngineState>> open_engine(const std::shared_ptr<EngineState>& state) {
  if (state->closed()) return Error{Status::kClosed, "the engine was destroyed"};
  return state;
}
inline Result<std::shared_ptr<EngineState>> open_engine(const timbre_engine* engine) {
  if (engine == nullptr) return Error{Status::kInvalidArgument, "the engine is NULL"};
  return open_engine(engine->state);
}

}  // namespace timbre::capi
