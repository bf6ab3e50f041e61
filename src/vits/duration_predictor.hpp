// SPDX-License-Identifier: MIT
//
// Duration predictor: log durations of the ids from hidden states, stochastic (a spline flow over noise) or
// deterministic. Always float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vits/vits_config.hpp"
#include "vits/vits_weights.hpp"

namespace timbre::vits {

/// The most frames of one sentence: 12 minutes at 22,050 Hz, half a gigabyte of activations at most.
inline constexpr std::int64_t kMaxFrames = 65536;

/// @param hidden  [ids rounded up to whole blocks, hidden].
/// @param voice   "g" as [1, voice_dim], undefined without conditioning.
/// @param noise   [2, ids], scaled; the deterministic predictor takes only the number of ids from it.
/// @return [ids]; kFormat when numbers are not finite.
[[nodiscard]] Result<std::vector<float>> log_durations(const DurationWeights& weights, const VitsConfig& config,
                                                       const at::Tensor& hidden, const at::Tensor& voice,
                                                       const at::Tensor& noise);

/// Frames of each id: ceil(exp(log duration) * length_scale).
///
/// @return kInvalidArgument when the sentence would have more than kMaxFrames.
[[nodiscard]] Result<std::vector<std::int32_t>> round_durations(std::span<const float> log_durations,
                                                                float length_scale);

/// Sum of durations, at least 1. @return kInvalidArgument for a negative one or more than kMaxFrames in all.
[[nodiscard]] Result<std::int64_t> count_frames(std::span<const std::int32_t> durations);

}  // namespace timbre::vits
