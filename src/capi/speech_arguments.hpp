// SPDX-License-Identifier: MIT
//
// Reading a caller's timbre_speech_request.
#pragma once

#include <chrono>
#include <optional>

#include "speech/utterance.hpp"
#include "timbre/c/speech.h"

namespace timbre::capi {

/// A request with everything owned; what concerns the model is checked by speech::check_request.
struct OpenRequest {
  const timbre_lease* lease = nullptr;  ///< the caller's, during the call
  speech::Request request;
  std::optional<std::uint64_t> ring_samples;
  std::optional<std::chrono::milliseconds> read_timeout;  ///< nothing = no limit
};

[[nodiscard]] timbre_speech_request default_request();

Result<OpenRequest> read_request(const timbre_speech_request* request);

}  // namespace timbre::capi
