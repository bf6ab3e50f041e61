// SPDX-License-Identifier: MIT
//
// Windows of the decoder against the whole. The models are the tiny Piper fixtures of both residual block types.
#include "model_case.hpp"
#include "vits/model_loader.hpp"
#include "vits/torch_thread.hpp"
#include "vits/vits_graph.hpp"

#include <ATen/ops/empty.h>

#include "timbre/core/philox.hpp"

namespace timbre::vits_test {
namespace {

using vits::DecoderWindow;

vits::VitsGraph build(const std::string& voice) {
  (void)backend();
  const Parts parts = piper(kGoldens / (voice + ".onnx"));
  auto loaded = vits::load_model(parts.files, {});
  REQUIRE(loaded.ok());
  auto weights = vits::build_weights(loaded->tensors, loaded->config, loaded->where);
  REQUIRE(weights.ok());
  return {std::move(loaded->config), std::move(*weights)};
}

at::Tensor random_latents(const vits::VitsGraph& graph, std::int64_t frames) {
  at::Tensor rows = at::empty({frames, graph.config().latent}, vits::float_options());
  gaussian_row(1, kPriorNoise, 0, 0, rows.data_ptr<float>(), static_cast<std::uint32_t>(rows.numel()));
  return vits::from_rows(rows);
}

std::vector<float> values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

/// The largest difference between windows of this reach and the whole.
double windows_against_whole(const vits::VitsGraph& graph, std::int64_t frames, std::int64_t reach) {
  const vits::TorchScope scope;
  const at::Tensor latents = random_latents(graph, frames);
  const std::vector<float> g(static_cast<std::size_t>(graph.config().voice_dim), 0.3F);
  const at::Tensor condition = graph.decoder_condition(graph.voice(g));
  std::vector<float> parts;
  for (const DecoderWindow& window : vits::decoder_schedule(frames, reach)) {
    const auto chunk = values(graph.decode_window(latents, window, condition));
    parts.insert(parts.end(), chunk.begin(), chunk.end());
  }
  return distance(parts, values(graph.decode_whole(latents, condition)));
}

}  // namespace

TEST_CASE("the reach of a decoder follows from its configuration", "[vits][decoder]") {
  vits::VitsConfig medium;
  medium.upsample_rates = {8, 8, 4};
  medium.upsample_kernels = {16, 16, 8};
  medium.resblock_type = 2;
  medium.resblock_kernels = {3, 5, 7};
  medium.resblock_dilations = {{1, 2}, {2, 6}, {3, 12}};
  CHECK(vits::decoder_reach_frames(medium) == 11);
  vits::VitsConfig high;
  high.upsample_rates = {8, 8, 2, 2};
  high.upsample_kernels = {16, 16, 4, 4};
  high.resblock_type = 1;
  high.resblock_kernels = {3, 7, 11};
  high.resblock_dilations = {{1, 3, 5}, {1, 3, 5}, {1, 3, 5}};
  CHECK(vits::decoder_reach_frames(high) == 13);
}

TEST_CASE("a schedule covers every frame once and knows few window lengths", "[vits][decoder]") {
  constexpr std::int64_t kReach = 11;
  for (std::int64_t frames = 1; frames <= 1000; ++frames) {
    std::int64_t at = 0;
    for (const DecoderWindow& window : vits::decoder_schedule(frames, kReach)) {
      REQUIRE(window.first == at);
      at = window.last;
      REQUIRE(window.begin <= std::max<std::int64_t>(0, window.first - kReach));
      REQUIRE(window.end >= std::min(frames, window.last + kReach));
      REQUIRE(window.end <= frames);
      const std::int64_t length = window.end - window.begin;
      const bool closed = length == vits::kFirstChunkFrames + kReach || length == vits::kChunkFrames + 2 * kReach;
      REQUIRE((closed || length == frames));
      if (frames >= vits::kChunkFrames + 2 * kReach) REQUIRE(closed);
    }
    REQUIRE(at == frames);
  }
}

TEST_CASE("windows give the samples of the whole", "[vits][decoder]") {
  for (const char* voice : {"piper_low", "piper_multi_high"}) {
    const vits::VitsGraph graph = build(voice);
    const std::int64_t reach = graph.reach_frames();
    for (const std::int64_t frames :
         {std::int64_t{1}, reach - 1, std::int64_t{44}, std::int64_t{45}, std::int64_t{46}, 45 + reach,
          std::int64_t{46} + reach, std::int64_t{160}, std::int64_t{205}, std::int64_t{206}, 205 + reach,
          std::int64_t{300}, std::int64_t{365}, std::int64_t{366}, std::int64_t{480}}) {
      INFO(voice << " " << frames << " frames");
      CHECK(windows_against_whole(graph, frames, reach) <= 1e-6);
    }
  }
}

TEST_CASE("windows with too little of their neighbours do not", "[vits][decoder]") {
  for (const char* voice : {"piper_low", "piper_multi_high"}) {
    const vits::VitsGraph graph = build(voice);
    INFO(voice);
    CHECK(windows_against_whole(graph, 300, graph.reach_frames() / 2) > 1e-6);
  }
}

TEST_CASE("chunks of a run follow the schedule and are whole frames", "[vits][decoder]") {
  const auto model = load(piper(kGoldens / "piper_low.onnx"));
  Sentence sentence{{1, 2, 3}, {}, {100, 100, 100}, 0, 1, 0, 0, 0};
  const Spoken spoken = speak(*model, sentence);
  const std::size_t hop = model->facts().hop_samples;
  const std::vector<std::size_t> expected{45 * hop, 160 * hop, 95 * hop};
  CHECK(spoken.chunks == expected);
}

}  // namespace timbre::vits_test
