// SPDX-License-Identifier: MIT
#include "capi/engine_state.hpp"

#include <algorithm>

#include "capi/plugins.hpp"

namespace timbre::capi {

EngineState::EngineState(EngineOptions options) : options_(std::move(options)) {}

Result<std::shared_ptr<EngineState>> EngineState::start(EngineOptions options) {
  std::shared_ptr<EngineState> state(new EngineState(std::move(options)));
  TiersOptions tiers = state->options_.tiers;
  tiers.store.warning = [log = state->log_](std::string line) { log->add(LogLevel::kWarning, std::move(line)); };
  Result<std::shared_ptr<VoiceTiers>> voices = VoiceTiers::make(tiers);
  if (!voices) return std::move(voices).error();
  state->voices_ = std::move(*voices);
  state->leases_ = LeaseBook::make(state->voices_);
  speech::Executor::Options worker = state->options_.worker;
  worker.warning = [log = state->log_](std::string line) { log->add(LogLevel::kWarning, std::move(line)); };
  Result<std::unique_ptr<speech::Executor>> executor = speech::Executor::start(std::move(worker));
  if (!executor) return std::move(executor).error();
  state->executor_ = std::move(*executor);
  if (state->options_.background) {
    Result<std::unique_ptr<Background>> background =
        Background::start(state->voices_, state->options_.worker.thread_name);
    if (!background) return std::move(background).error();
    state->background_ = std::move(*background);
  }
  if (state->options_.fell_back)
    state->log_->add(LogLevel::kWarning, "there is no CUDA device; the CPU is used instead");
  capi::stop_at_exit(state);
  return state;
}

EngineState::~EngineState() {
  close();
  if (leases_ != nullptr) leases_->retire();
}

void EngineState::close() {
  closed_.store(true);
  if (voices_) voices_->close();
  std::vector<std::weak_ptr<speech::SpeechStream>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.swap(streams_);
  }
  for (const auto& weak : streams) {
    if (const auto stream = weak.lock()) stream->cancel();
  }
  if (executor_) executor_->stop();
  if (background_) background_->stop();
  if (voices_) voices_->keeper().keep_uses(voices_->bank());
}

void EngineState::stop_at_exit() noexcept {
  try {
    close();
  } catch (...) {  // NOLINT: at exit there is nobody to tell
  }
}

Result<std::shared_ptr<frontend::Phonemizer>> EngineState::phonemizer() {
  const std::lock_guard lock(phonemizer_mutex_);
  if (phonemizer_) return phonemizer_;
  Result<std::string> plugin = find_plugin("libtimbre-espeak.so");
  if (!plugin) return std::move(plugin).error();
  Result<std::shared_ptr<frontend::Phonemizer>> opened =
      frontend::Phonemizer::open(*plugin, options_.espeak_library, options_.espeak_data);
  if (opened) phonemizer_ = *opened;
  return opened;
}

bool EngineState::add(const std::shared_ptr<speech::SpeechStream>& stream) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
    streams_.push_back(stream);
  }
  if (!closed()) return true;
  stream->cancel();
  return false;
}

void EngineState::add(const std::shared_ptr<const speech::Model>& model) {
  const std::lock_guard lock(mutex_);
  std::erase_if(models_, [](const auto& weak) { return weak.expired(); });
  models_.push_back(model);
}

std::shared_ptr<const speech::Model> EngineState::find_model(std::string_view fingerprint) {
  const std::lock_guard lock(mutex_);
  for (const auto& weak : models_) {
    std::shared_ptr<const speech::Model> model = weak.lock();
    if (model && model->synthesizer->facts().fingerprint == fingerprint) return model;
  }
  return nullptr;
}

void EngineState::enter_backend(speech::Backend& backend) {
  if (entered_backend_) return;
  backend.enter_thread(options_.thread_count);
  executor_->share(options_.thread_count,
                   [&backend](const std::function<void()>& lane) { backend.side_by_side(lane); });
  entered_backend_ = true;
}

}  // namespace timbre::capi
