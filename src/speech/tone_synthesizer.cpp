// SPDX-License-Identifier: MIT
#include "speech/tone_synthesizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "timbre/core/philox.hpp"

namespace timbre::speech {
namespace {

constexpr std::uint32_t kRateHz = 22'050;
constexpr std::uint32_t kHop = 256;
constexpr std::uint32_t kVoiceDim = 16;
constexpr std::uint32_t kSpeakers = 4;
constexpr std::uint32_t kTokens = 128;
constexpr std::size_t kChunkFrames = 32;
constexpr std::int32_t kMaxFrames = 65'535;
constexpr std::string_view kSymbols = " abcdefghijklmnopqrstuvwxyz0123456789.,!?:;'-";

/// One period of a sine-like wave over [0, 1): two parabolas, exact to 6 %.
double wave(double phase) {
  const double x = phase < 0.5 ? phase : phase - 0.5;
  const double bow = 16.0 * x * (0.5 - x);
  return phase < 0.5 ? bow : -bow;
}

class ToneRun final : public SegmentRun {
 public:
  explicit ToneRun(const SegmentInput& input) : input_(input) {
    const double mean = std::accumulate(input.voice.begin(), input.voice.end(), 0.0) / kVoiceDim;
    base_hz_ = 110.0 * (1.0 + std::clamp(mean, -0.9, 9.0));
  }

  Result<bool> prepare() override {
    frames_.resize(input_.ids.size());
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (!input_.durations.empty()) {
        frames_[i] = input_.durations[i];
        continue;
      }
      const double jitter = input_.noise_w * noise(kDurationNoise, static_cast<std::uint32_t>(i));
      const double wanted = (3.0 + input_.ids[i] % 4 + jitter) * input_.length_scale;
      frames_[i] = static_cast<std::int32_t>(std::clamp(std::ceil(wanted), 1.0, double{kMaxFrames}));
    }
    const std::int64_t total = std::accumulate(frames_.begin(), frames_.end(), std::int64_t{0});
    if (total == 0) frames_.back() = 1;
    return true;
  }

  [[nodiscard]] std::span<const std::int32_t> frames() const override { return frames_; }

  Result<bool> next(std::vector<float>& out) override {
    if (token_ == frames_.size()) return false;
    for (std::size_t count = 0; count < kChunkFrames && token_ < frames_.size();) {
      if (frame_in_token_ == frames_[token_]) {
        ++token_;
        frame_in_token_ = 0;
        continue;
      }
      add_frame(out);
      ++frame_in_token_;
      ++count;
    }
    while (token_ < frames_.size() && frame_in_token_ == frames_[token_]) {
      ++token_;
      frame_in_token_ = 0;
    }
    return true;
  }

  [[nodiscard]] StageTimes times() const override { return {}; }

 private:
  [[nodiscard]] double noise(std::uint32_t stage, std::uint32_t index) const {
    return gaussian(input_.seed, stage, input_.segment, 0, index);
  }

  void add_frame(std::vector<float>& out) {
    const double step = base_hz_ * (1.0 + (input_.ids[token_] % 12) / 12.0) / kRateHz;
    for (std::uint32_t i = 0; i < kHop; ++i) {
      const double breath = input_.noise_scale == 0 ? 0.0 : 0.05 * input_.noise_scale * noise(kPriorNoise, sample_++);
      out.push_back(static_cast<float>(std::clamp(0.4 * wave(phase_) + breath, -1.0, 1.0)));
      phase_ += step;
      if (phase_ >= 1.0) phase_ -= 1.0;
    }
  }

  SegmentInput input_;
  double base_hz_ = 0;
  std::vector<std::int32_t> frames_;
  std::size_t token_ = 0;
  std::int32_t frame_in_token_ = 0;
  double phase_ = 0;
  std::uint32_t sample_ = 0;
};

class ToneSynthesizer final : public Synthesizer {
 public:
  ToneSynthesizer() {
    facts_.family = "tone";
    facts_.name = "tone";
    facts_.fingerprint = "746f6e65000000000000000000000001";
    facts_.sample_rate_hz = kRateHz;
    facts_.hop_samples = kHop;
    facts_.token_count = kTokens;
    facts_.speaker_count = kSpeakers;
    facts_.voice_dim = kVoiceDim;
    facts_.default_speaker = 0;
    facts_.speaker_names = {"bass", "tenor", "alto", "soprano"};
  }

  [[nodiscard]] const ModelFacts& facts() const override { return facts_; }

  [[nodiscard]] Result<std::vector<float>> speaker_vector(std::int32_t speaker) const override {
    if (speaker < 0 || static_cast<std::uint32_t>(speaker) >= kSpeakers) {
      return Error{Status::kInvalidArgument,
                   fmt::format("speaker {} is out of range, the model has 0..{}", speaker, kSpeakers - 1)};
    }
    return std::vector<float>(kVoiceDim, 0.5F * static_cast<float>(speaker));
  }

  Result<std::unique_ptr<SegmentRun>> begin(const SegmentInput& input) const override {
    return std::unique_ptr<SegmentRun>(std::make_unique<ToneRun>(input));
  }

 private:
  ModelFacts facts_;
};

}  // namespace

std::string tone_config_json() {
  std::string map = R"("_":[0],"^":[1],"$":[2])";
  int id = 3;
  for (const char symbol : kSymbols) map += fmt::format(R"(,"{}":[{}])", symbol, id++);
  return fmt::format(R"({{"audio":{{"sample_rate":{}}},"phoneme_type":"text","phoneme_id_map":{{{}}}}})", kRateHz, map);
}

std::unique_ptr<Synthesizer> make_tone_synthesizer() { return std::make_unique<ToneSynthesizer>(); }

}  // namespace timbre::speech
