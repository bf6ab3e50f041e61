// SPDX-License-Identifier: MIT
//
// Inverse of a monotonic rational-quadratic spline with linear tails (Durkan et al. 2019,
// https://arxiv.org/abs/1906.04032): how the duration predictor's flows turn noise into log durations.
//
// Invariants
//   * Outside [-tail, tail] the spline is the identity; no element inside is as good as any other number of them.
//   * A value that is not finite gives an error, never a bin.
#pragma once

#include <cstdint>
#include <span>

#include "timbre/core/result.hpp"

namespace timbre::vits {

struct SplineShape {
  std::int64_t bins = 10;
  double tail = 5.0;
  double scale = 1.0;  ///< widths and heights are divided by it: the square root of the filter channels
};

/// Applies the inverse in place.
///
/// @param parameters  for each value `3 bins - 1` raw numbers: widths, heights, inner derivatives.
/// @return kFormat when a value or parameter is not finite.
[[nodiscard]] Result<void> invert_spline(const SplineShape& shape, std::span<const float> parameters,
                                         std::span<float> values);

}  // namespace timbre::vits
