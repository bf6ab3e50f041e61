// SPDX-License-Identifier: MIT
//
// The model half of a Piper voice's .onnx.json: rates, speakers and default scales. What concerns text is the front
// end's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::vits {

struct PiperJson {
  std::int64_t sample_rate_hz = 0;
  std::int64_t hop_samples = 0;    ///< 0 when the file does not say
  std::int64_t speaker_count = 0;  ///< 0 when the file does not say
  std::int64_t default_speaker = -1;
  std::vector<std::string> speaker_names;  ///< by index; empty, or without holes
  double noise_scale = 0.667;
  double length_scale = 1.0;
  double noise_w = 0.8;
  std::string warning;  ///< for the log, empty if there is none
};

/// @param where  what messages call the file.
/// @return kFormat naming file and key for everything that is not as Piper writes it.
[[nodiscard]] Result<PiperJson> read_piper_json(std::string_view text, std::string_view where);

}  // namespace timbre::vits
