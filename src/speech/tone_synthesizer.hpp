// SPDX-License-Identifier: MIT
//
// ToneSynthesizer: a deterministic stand-in for a model, loaded by the name "tone:". Hosts and tests exercise the whole
// API with it: text, voices, noise, streaming. 22,050 Hz, 4 speakers, voice_dim 16, 256 samples a frame.
//
// Invariants: the contract of Synthesizer; samples use only additions, multiplications and comparisons of doubles, so
// they are bit-equal on every machine.
#pragma once

#include <memory>

#include "speech/synthesizer.hpp"

namespace timbre::speech {

/// The configuration of its front end, in the form of a Piper .onnx.json (phoneme_type "text").
[[nodiscard]] std::string tone_config_json();

[[nodiscard]] std::unique_ptr<Synthesizer> make_tone_synthesizer();

}  // namespace timbre::speech
