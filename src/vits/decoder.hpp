// SPDX-License-Identifier: MIT
//
// Decoder: latents to samples (HiFi-GAN), whole or in windows that give the same samples.
//
// Invariants
//   * A window is decoded with `reach` frames of true neighbours on both sides, cut off afterwards. Zero padding stands
//     only at the true ends of the sentence, at the input of every layer.
//   * The schedule is a function of the model and the frame count only.
#pragma once

#include <cstdint>
#include <vector>

#include "vits/vits_config.hpp"
#include "vits/vits_weights.hpp"

namespace timbre::vits {

/// @param z         [1, latent, 1, frames].
/// @param condition  dec.cond applied to "g", [1, channels, 1, 1]; undefined without conditioning.
/// @return [frames * hop] samples.
[[nodiscard]] at::Tensor decode(const DecoderWeights& weights, const VitsConfig& config, const at::Tensor& z,
                                const at::Tensor& condition);

/// Frames on each side that a sample depends on, rounded up: from the configuration, 11 for Piper's medium voices and
/// 13 for the larger decoders.
[[nodiscard]] std::int64_t decoder_reach_frames(const VitsConfig& config);

/// One step of the schedule: frames [first, last) come out of the window [begin, end).
struct DecoderWindow {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

inline constexpr std::int64_t kFirstChunkFrames = 45;
inline constexpr std::int64_t kChunkFrames = 160;

/// Chunks of 45, then 160 frames. Sentences longer than a full window know only two window lengths: the last window is
/// moved to the left so that it ends with the sentence.
[[nodiscard]] std::vector<DecoderWindow> decoder_schedule(std::int64_t frames, std::int64_t reach);

}  // namespace timbre::vits
