// SPDX-License-Identifier: MIT
//
// VoiceSource: where speech gets its voices from: bank::LeaseSource, of whose tiers and leases speech knows nothing.
//
// Invariant: what a Voice points to never changes; a re-put makes a new object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "voice/voice_record.hpp"

namespace timbre::voice {

/// A version of a voice, kept alive by whoever holds it.
struct Voice {
  std::shared_ptr<const VoiceRecord> record;
  std::uint64_t version = 0;
};

class VoiceSource {
 public:
  virtual ~VoiceSource() = default;
  /// What can be told without waiting: the voice, kNotFound for certain, or nothing yet. Any thread.
  virtual Result<std::optional<Voice>> try_get(std::string_view id) = 0;
  /// The voice; may wait. On an engine thread.
  virtual Result<Voice> get(std::string_view id) = 0;
};

}  // namespace timbre::voice
