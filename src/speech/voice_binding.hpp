// SPDX-License-Identifier: MIT
//
// Binding a voice to a model: the one place that decides whether a record may speak, and with which vector.
//
// Invariant: never a wrong voice. What does not fit is an error that says why; there is no default vector.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "speech/synthesizer.hpp"
#include "voice/voice_record.hpp"

namespace timbre::speech {

/// Whether a record may speak with a model. `what` names the record in messages ("voice 'npc/guard-7'").
/// `inline_tensors`: given with the request for this model, so it needs no fingerprint.
Result<void> check_fit(const voice::VoiceRecord& record, std::string_view what, const ModelFacts& facts,
                       bool inline_tensors);

/// The vector "g" of a record that fits, [voice_dim]; empty for a model without conditioning.
Result<std::vector<float>> bind_record(const voice::VoiceRecord& record, const Synthesizer& synthesizer);

/// The vector "g" of a speaker of the model, or of its default speaker when none is named.
Result<std::vector<float>> bind_speaker(std::optional<std::int32_t> speaker, const Synthesizer& synthesizer);

/// Whether a speaker index may be used; none is allowed where the model has one speaker or a default.
Result<void> check_speaker(std::optional<std::int32_t> speaker, const ModelFacts& facts);

}  // namespace timbre::speech
