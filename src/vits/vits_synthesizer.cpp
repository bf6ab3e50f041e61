// SPDX-License-Identifier: MIT
#include "vits/vits_synthesizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "vits/torch_thread.hpp"

namespace timbre::vits {
namespace {

using speech::SegmentInput;
using speech::StageTimes;

/// Microseconds since it was made or last asked.
class Lap {
 public:
  std::uint64_t operator()() {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(now - std::exchange(from_, now));
    return static_cast<std::uint64_t>(passed.count());
  }

 private:
  std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};

/// An error of the durations, with the scales that may have caused it.
Error with_scales(const Error& error, const SegmentInput& input, bool noisy) {
  std::string text = fmt::format("{} at length scale {:g}", error.message, input.length_scale);
  if (noisy && input.noise_w != 0.0F) text += fmt::format(" and noise_w {:g}", input.noise_w);
  return Error{error.status, std::move(text)};
}

/// Ids of a sentence whose encoder runs in one piece; longer ones let others work between their layers.
constexpr std::size_t kPieceIds = 256;

class VitsRun : public speech::SegmentRun {
 public:
  VitsRun(const VitsGraph& graph, const SegmentInput& input) : graph_(graph), input_(input) {}

  Result<bool> prepare() override {
    return guarded("synthesis", [&]() -> Result<bool> {
      if (!encode()) return false;
      if (auto known = find_durations(); !known) return known.error();
      return true;
    });
  }
  [[nodiscard]] std::span<const std::int32_t> frames() const override { return durations_; }
  Result<bool> next(std::vector<float>& out) override {
    if (!stream_ || stream_->is_done()) return false;
    return guarded("synthesis", [&] { return decode_next(out); });
  }
  [[nodiscard]] StageTimes times() const override { return times_; }

 private:
  bool encode();
  Result<void> find_durations();
  Result<bool> decode_next(std::vector<float>& out);

  const VitsGraph& graph_;
  SegmentInput input_;
  std::optional<TextEncoder> encoder_;
  std::vector<std::int32_t> durations_;
  std::optional<SentenceStream> stream_;
  StageTimes times_;
};

/// The next piece of the encoder; true when it is done.
bool VitsRun::encode() {
  Lap lap;
  if (!encoder_) encoder_.emplace(graph_.weights().text, input_.ids);
  do {
    encoder_->step();
  } while (!encoder_->is_done() && input_.ids.size() <= kPieceIds);
  times_.encoder_us += lap();
  return encoder_->is_done();
}

Result<void> VitsRun::find_durations() {
  Lap lap;
  const at::Tensor voice = graph_.voice(input_.voice);
  TextEncoding text = encoder_->result();
  encoder_.reset();
  times_.encoder_us += lap();
  if (input_.durations.empty()) {
    auto logs = graph_.durations(text, voice, input_.noise_w, input_.seed, input_.segment);
    const bool noisy = graph_.config().stochastic_durations;
    if (!logs) return with_scales(logs.error(), input_, noisy);
    auto rounded = round_durations(*logs, input_.length_scale);
    if (!rounded) return with_scales(rounded.error(), input_, noisy);
    durations_ = std::move(*rounded);
  } else {
    durations_.assign(input_.durations.begin(), input_.durations.end());
  }
  const auto frames = count_frames(durations_);
  if (!frames) return frames.error();
  times_.durations_us = lap();
  stream_.emplace(
      graph_.stream({std::move(text), spread(durations_), input_.noise_scale, input_.seed, input_.segment}, voice));
  times_.flow_us = lap();
  return {};
}

Result<bool> VitsRun::decode_next(std::vector<float>& out) {
  Lap lap;
  stream_->run_flow();
  times_.flow_us += lap();
  const at::Tensor samples = stream_->decode().contiguous();
  const std::span<const float> chunk(samples.data_ptr<float>(), static_cast<std::size_t>(samples.numel()));
  if (!std::all_of(chunk.begin(), chunk.end(), [](float value) { return std::isfinite(value); })) {
    return Error{Status::kFormat,
                 fmt::format("the decoder gave a sample that is not finite at noise scale {:g}", input_.noise_scale)};
  }
  out.insert(out.end(), chunk.begin(), chunk.end());
  times_.decoder_us += lap();
  return true;
}

}  // namespace

VitsSynthesizer::VitsSynthesizer(speech::ModelFacts facts, VitsGraph graph)
    : facts_(std::move(facts)), graph_(std::move(graph)) {}

Result<std::vector<float>> VitsSynthesizer::speaker_vector(std::int32_t speaker) const {
  if (facts_.voice_dim == 0) {
    return Error{Status::kUnsupported, facts_.name + ": a single-speaker model has no speaker vectors"};
  }
  if (speaker < 0 || static_cast<std::uint32_t>(speaker) >= facts_.speaker_count) {
    return Error{Status::kInvalidArgument, facts_.name + ": speaker " + std::to_string(speaker) +
                                               " is not one of its " + std::to_string(facts_.speaker_count)};
  }
  const float* row = graph_.weights().speakers.data_ptr<float>() + static_cast<std::size_t>(speaker) * facts_.voice_dim;
  return std::vector<float>(row, row + facts_.voice_dim);
}

Result<std::unique_ptr<speech::SegmentRun>> VitsSynthesizer::begin(const SegmentInput& input) const {
  if (input.ids.empty() || input.ids.size() > speech::kMaxSegmentIds) {
    return Error{Status::kInvalidArgument, "a sentence has 1.." + std::to_string(speech::kMaxSegmentIds) +
                                               " ids, not " + std::to_string(input.ids.size())};
  }
  for (const std::int32_t id : input.ids) {
    if (id < 0 || static_cast<std::uint32_t>(id) >= facts_.token_count) {
      return Error{Status::kInvalidToken, facts_.name + ": id " + std::to_string(id) + " is outside 0.." +
                                              std::to_string(facts_.token_count - 1)};
    }
  }
  if (input.voice.size() != facts_.voice_dim) {
    return Error{Status::kMismatch, facts_.name + ": a voice of " + std::to_string(input.voice.size()) +
                                        " numbers where the model takes " + std::to_string(facts_.voice_dim)};
  }
  if (!input.durations.empty() && input.durations.size() != input.ids.size()) {
    return Error{Status::kInvalidArgument, std::to_string(input.durations.size()) + " durations for " +
                                               std::to_string(input.ids.size()) + " ids"};
  }
  return std::unique_ptr<speech::SegmentRun>(std::make_unique<VitsRun>(graph_, input));
}

}  // namespace timbre::vits
