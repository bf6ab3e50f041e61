// SPDX-License-Identifier: MIT
//
// What the opaque handles for models and utterances are. (The engine's is in engine_state.hpp.)
#pragma once

#include <memory>
#include <string>

#include "capi/engine_state.hpp"
#include "speech/voice_binding.hpp"
#include "timbre/c/model.h"
#include "timbre/c/speech.h"

struct timbre_model {
  std::shared_ptr<timbre::capi::EngineState> engine;
  std::shared_ptr<const timbre::speech::Model> model;
  std::string front_end;
  std::string language;
};

struct timbre_speech {
  std::shared_ptr<timbre::capi::EngineState> engine;
  std::shared_ptr<timbre::speech::SpeechStream> stream;
  std::uint64_t seed = 0;
  std::uint32_t sample_rate_hz = 0;
  std::optional<std::chrono::milliseconds> read_timeout;
};

namespace timbre::capi {

/// kInvalidArgument for a NULL handle, kClosed when its engine was destroyed.
template <typename Handle>
Result<void> check_open(const Handle* handle) {
  if (handle == nullptr) return Error{Status::kInvalidArgument, "the handle is NULL"};
  if (handle->engine->closed()) return Error{Status::kClosed, "the engine was destroyed"};
  return {};
}

}  // namespace timbre::capi
