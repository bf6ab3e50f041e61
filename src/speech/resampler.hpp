// SPDX-License-Identifier: MIT
//
// Resampler: changes the sample rate of a mono stream (libsamplerate, sinc of medium quality).
//
// Invariant: the samples are the same however the input is cut into pieces by the same schedule.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "timbre/core/result.hpp"

struct SRC_STATE_tag;

namespace timbre::speech {

class Resampler {
 public:
  /// Rates in Hz; the ratio must lie in 1/256..256.
  static Result<std::unique_ptr<Resampler>> make(std::uint32_t from_hz, std::uint32_t to_hz);

  /// Appends what `in` becomes to `out`. `last` flushes the filter; nothing may follow.
  Result<void> process(std::span<const float> in, bool last, std::vector<float>& out);

 private:
  struct Delete {
    void operator()(SRC_STATE_tag* state) const;
  };
  explicit Resampler(double ratio) : ratio_(ratio) {}

  double ratio_;
  std::unique_ptr<SRC_STATE_tag, Delete> state_;
};

}  // namespace timbre::speech
