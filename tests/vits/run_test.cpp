// SPDX-License-Identifier: MIT
//
// What a run promises: noise by seed, scales, forced durations, voices, and errors that say so.
#include "model_case.hpp"

namespace timbre::vits_test {
namespace {

const std::vector<std::int32_t> kIds{1, 0, 20, 0, 17, 0, 24, 0, 24, 0, 27, 0, 2};

std::unique_ptr<speech::Synthesizer> multi() { return load(piper(kGoldens / "piper_multi.onnx")); }

Status status_of(const speech::Synthesizer& model, const Sentence& sentence) {
  auto spoken = try_speak(model, sentence);
  return spoken ? Status::kOk : spoken.error().status;
}

std::string message_of(const speech::Synthesizer& model, const Sentence& sentence) {
  auto spoken = try_speak(model, sentence);
  return spoken ? "" : spoken.error().message;
}

}  // namespace

TEST_CASE("the same seed gives the same samples, bit for bit, and another seed others", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, voice_of(*model, 1), {}, 0.667F, 1, 0.8F, 42, 3};
  const Spoken one = speak(*model, sentence);
  CHECK(speak(*model, sentence).samples == one.samples);
  sentence.seed = 43;
  CHECK(speak(*model, sentence).samples != one.samples);
  sentence.seed = 42;
  sentence.segment = 4;
  CHECK(speak(*model, sentence).samples != one.samples);
}

TEST_CASE("a scale of 0 means none, whatever the seed", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, voice_of(*model, 1), {}, 0, 1, 0, 1, 0};
  const Spoken quiet = speak(*model, sentence);
  sentence.seed = 2;
  CHECK(speak(*model, sentence).samples == quiet.samples);
  sentence.noise_scale = 0.667F;
  const Spoken noisy = speak(*model, sentence);
  CHECK(noisy.frames == quiet.frames);
  CHECK(noisy.samples != quiet.samples);
}

TEST_CASE("forced durations are the frames, zeros included", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, voice_of(*model, 0), {0, 1, 2, 0, 4, 5, 1, 0, 3, 9, 1, 1, 0}, 0, 1, 0, 0, 0};
  const Spoken spoken = speak(*model, sentence);
  CHECK(spoken.frames == sentence.durations);
  CHECK(spoken.samples.size() == 27 * model->facts().hop_samples);
  sentence.durations.assign(kIds.size(), 0);
  CHECK(speak(*model, sentence).samples.size() == model->facts().hop_samples);
  sentence.durations.assign(kIds.size(), 100'000);
  CHECK(status_of(*model, sentence) == Status::kInvalidArgument);
  sentence.durations.assign(kIds.size(), -1);
  CHECK(status_of(*model, sentence) == Status::kInvalidArgument);
  sentence.durations.assign(kIds.size() - 1, 1);
  CHECK(status_of(*model, sentence) == Status::kInvalidArgument);
}

TEST_CASE("a longer length scale gives more frames, an absurd one an error", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, voice_of(*model, 0), {}, 0, 1, 0, 0, 0};
  const std::size_t normal = speak(*model, sentence).samples.size();
  sentence.length_scale = 2;
  CHECK(speak(*model, sentence).samples.size() > normal);
  sentence.length_scale = 1e30F;
  CHECK(status_of(*model, sentence) == Status::kInvalidArgument);
  CHECK(message_of(*model, sentence) == "a sentence of 13 ids has more than 65536 frames at length scale 1e+30");
}

TEST_CASE("durations that get out of hand name every scale that can cause it", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, voice_of(*model, 0), {}, 0, 1, 1e5F, 0, 0};
  CHECK(status_of(*model, sentence) == Status::kInvalidArgument);
  CHECK_THAT(message_of(*model, sentence), Catch::EndsWith("65536 frames at length scale 1 and noise_w 100000"));
  for (const float noise_w : {1e10F, 1e20F, 3e38F}) {
    sentence.noise_w = noise_w;
    CHECK_THAT(message_of(*model, sentence), Catch::Contains("length scale 1 and noise_w"));
  }
}

TEST_CASE("an absurd noise scale is named when no sound comes out of it", "[vits][run]") {
  const auto model = multi();
  const Sentence sentence{kIds, voice_of(*model, 0), {}, 3e38F, 1, 0, 0, 0};
  CHECK(message_of(*model, sentence) == "the decoder gave a sample that is not finite at noise scale 3e+38");
}

TEST_CASE("speakers differ, blends work and wrong voices are errors", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, voice_of(*model, 0), {}, 0, 1, 0, 0, 0};
  const Spoken first = speak(*model, sentence);
  sentence.voice = voice_of(*model, 1);
  CHECK(speak(*model, sentence).samples != first.samples);
  const auto other = voice_of(*model, 2);
  for (std::size_t i = 0; i < other.size(); ++i) sentence.voice[i] = 0.5F * (sentence.voice[i] + other[i]);
  CHECK(status_of(*model, sentence) == Status::kOk);
  sentence.voice.pop_back();
  CHECK(status_of(*model, sentence) == Status::kMismatch);
  sentence.voice.clear();
  CHECK(status_of(*model, sentence) == Status::kMismatch);
  for (const std::int32_t speaker : {-1, 4, 1 << 30}) {
    auto vector = model->speaker_vector(speaker);
    REQUIRE_FALSE(vector.ok());
    CHECK(vector.error().status == Status::kInvalidArgument);
  }
  const auto single = load(piper(kGoldens / "piper_low.onnx"));
  auto none = single->speaker_vector(0);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().status == Status::kUnsupported);
}

TEST_CASE("ids outside the model are errors before any kernel", "[vits][run]") {
  const auto model = load(piper(kGoldens / "piper_low.onnx"));
  const auto tokens = static_cast<std::int32_t>(model->facts().token_count);
  for (const std::int32_t id : {-1, tokens, 1 << 30}) {
    CHECK(status_of(*model, {{1, id, 2}, {}, {}, 0, 1, 0, 0, 0}) == Status::kInvalidToken);
  }
  CHECK(status_of(*model, {{}, {}, {}, 0, 1, 0, 0, 0}) == Status::kInvalidArgument);
}

TEST_CASE("sentences of one id up to the longest are whole frames and finite", "[vits][run]") {
  const auto model = load(piper(kGoldens / "piper_low.onnx"));
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}, std::size_t{5},
                                  std::size_t{8}, std::size_t{9}, speech::kMaxSegmentIds}) {
    Sentence sentence{{}, {}, {}, 0.667F, 1, 0.8F, count, 0};
    for (std::size_t i = 0; i < count; ++i) sentence.ids.push_back(static_cast<std::int32_t>(i * 7 % 38));
    const Spoken spoken = speak(*model, sentence);
    std::size_t frames = 0;
    for (const std::int32_t each : spoken.frames) frames += static_cast<std::size_t>(each);
    CHECK(spoken.samples.size() == std::max<std::size_t>(1, frames) * model->facts().hop_samples);
    CHECK(std::all_of(spoken.samples.begin(), spoken.samples.end(), [](float v) { return std::isfinite(v); }));
  }
}

TEST_CASE("a voice that drives the model out of numbers is an error", "[vits][run]") {
  const auto model = multi();
  Sentence sentence{kIds, std::vector<float>(model->facts().voice_dim, 3e38F), {}, 0, 1, 0, 0, 0};
  CHECK(status_of(*model, sentence) != Status::kOk);
}

TEST_CASE("loading shows its stages and ends when told to", "[vits][run]") {
  const Parts parts = piper(kGoldens / "piper_low.onnx");
  std::vector<std::string> stages;
  speech::Backend::LoadOptions options;
  options.progress = [&](float fraction, const char* stage) {
    CHECK((fraction >= 0 && fraction <= 1));
    if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
    return true;
  };
  REQUIRE(backend().load(parts.files, options).ok());
  CHECK(stages == std::vector<std::string>{"read", "build", "warm-up"});
  options.progress = [](float, const char* stage) { return std::string(stage) != "build"; };
  auto cancelled = backend().load(parts.files, options);
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().status == Status::kCancelled);
}

}  // namespace timbre::vits_test
