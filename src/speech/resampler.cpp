// SPDX-License-Identifier: MIT
#include "speech/resampler.hpp"

#include <fmt/format.h>
#include <samplerate.h>

#include <cmath>

namespace timbre::speech {

void Resampler::Delete::operator()(SRC_STATE_tag* state) const { src_delete(state); }

Result<std::unique_ptr<Resampler>> Resampler::make(std::uint32_t from_hz, std::uint32_t to_hz) {
  const double ratio = static_cast<double>(to_hz) / from_hz;
  if (src_is_valid_ratio(ratio) == 0) {
    return Error{Status::kInvalidArgument, fmt::format("cannot resample from {} Hz to {} Hz", from_hz, to_hz)};
  }
  std::unique_ptr<Resampler> resampler(new Resampler(ratio));
  int error = 0;
  resampler->state_.reset(src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error));
  if (resampler->state_ == nullptr) return Error{Status::kOutOfMemory, src_strerror(error)};
  return resampler;
}

Result<void> Resampler::process(std::span<const float> in, bool last, std::vector<float>& out) {
  std::vector<float> room(static_cast<std::size_t>(std::ceil(static_cast<double>(in.size()) * ratio_)) + 4096);
  const float nothing = 0;  // the flush is skipped where data_in is NULL
  SRC_DATA data{};
  data.src_ratio = ratio_;
  data.end_of_input = last ? 1 : 0;
  while (true) {
    data.data_in = in.empty() ? &nothing : in.data();
    data.input_frames = static_cast<long>(in.size());
    data.data_out = room.data();
    data.output_frames = static_cast<long>(room.size());
    if (const int error = src_process(state_.get(), &data); error != 0)
      return Error{Status::kInternal, src_strerror(error)};
    out.insert(out.end(), room.begin(), room.begin() + data.output_frames_gen);
    in = in.subspan(static_cast<std::size_t>(data.input_frames_used));
    if (data.output_frames_gen == 0 || (in.empty() && data.output_frames_gen < data.output_frames)) return {};
  }
}

}  // namespace timbre::speech
