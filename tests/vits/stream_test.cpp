// SPDX-License-Identifier: MIT
//
// Flow and decoder in steps against the whole sentence. The models are the tiny Piper fixtures of both residual block
// types; the whole is plain_model.hpp's.
#include <ATen/ops/cat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "../cache/short_form.hpp"
#include "model_case.hpp"
#include "plain_model.hpp"
#include "timbre/core/philox.hpp"
#include "vits/model_loader.hpp"
#include "vits/torch_thread.hpp"
#include "vits/vits_graph.hpp"

namespace timbre::vits_test {
namespace {

/// A fixture as the graph has it and as the plain model reads it.
struct Fixture {
  explicit Fixture(const std::string& voice) : parts(piper(kGoldens / (voice + ".onnx"))) {
    (void)backend();
    auto read = vits::load_model(parts.files, {});
    REQUIRE(read.ok());
    loaded.emplace(std::move(*read));
    auto weights = vits::build_weights(loaded->tensors, loaded->config, loaded->where);
    REQUIRE(weights.ok());
    graph.emplace(loaded->config, std::move(*weights));
    g.assign(static_cast<std::size_t>(loaded->config.voice_dim), 0.3F);
  }

  [[nodiscard]] const vits::VitsConfig& config() const { return loaded->config; }
  [[nodiscard]] PlainModel plain() const { return {loaded->tensors, loaded->config}; }
  [[nodiscard]] at::Tensor voice() const { return graph->voice(g); }
  [[nodiscard]] at::Tensor plain_voice() const { return g.empty() ? at::Tensor() : voice().unsqueeze(2); }
  [[nodiscard]] at::Tensor condition() const {
    const auto& condition = graph->weights().decoder.condition;
    return condition ? condition(voice()) : at::Tensor();
  }

  Parts parts;
  std::optional<vits::LoadedModel> loaded;
  std::optional<vits::VitsGraph> graph;
  std::vector<float> g;
};

at::Tensor noise(std::int64_t rows, std::int64_t channels) {
  at::Tensor out = at::empty({rows, channels}, vits::float_options());
  gaussian_row(1, kPriorNoise, 0, 0, 0, out.data_ptr<float>(), static_cast<std::uint32_t>(out.numel()));
  return out;
}

/// [rows, channels] <-> [1, channels, rows]
at::Tensor turned(const at::Tensor& rows) { return rows.t().unsqueeze(0).contiguous(); }

std::vector<float> values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

template <typename Stream>
std::vector<float> in_steps(Stream stream, const at::Tensor& rows, std::int64_t step) {
  std::vector<float> out;
  for (std::int64_t at = 0; at < rows.size(0); at += step) {
    const auto chunk = values(stream.step(rows.slice(0, at), std::min(step, rows.size(0) - at)));
    out.insert(out.end(), chunk.begin(), chunk.end());
  }
  return out;
}

std::vector<float> decoded(const Fixture& model, const at::Tensor& latents, std::int64_t step) {
  return in_steps(
      vits::DecoderStream(model.graph->weights().decoder, model.config(), latents.size(0), model.condition()), latents,
      step);
}

/// The whole decoder over windows with `reach` frames of true neighbours on each side, cut off afterwards.
std::vector<float> in_windows(const Fixture& model, const at::Tensor& latents, std::int64_t step, std::int64_t reach) {
  std::vector<float> out;
  const std::int64_t frames = latents.size(0);
  for (std::int64_t first = 0; first < frames; first += step) {
    const std::int64_t last = std::min(frames, first + step);
    const std::int64_t begin = std::max<std::int64_t>(0, first - reach);
    const std::int64_t end = std::min(frames, last + reach);
    const auto samples = values(model.plain().decode(turned(latents.slice(0, begin, end)), model.plain_voice()));
    const std::int64_t hop = model.config().hop();
    out.insert(out.end(), samples.begin() + (first - begin) * hop, samples.begin() + (last - begin) * hop);
  }
  return out;
}

/// Steps to try: all of 1..200, or fewer.
std::vector<std::int64_t> steps() {
  std::vector<std::int64_t> out;
  if (cache::long_test("steps of 1..200 frames", 200, 13) == 200) {
    for (std::int64_t step = 1; step <= 200; ++step) out.push_back(step);
  } else {
    out = {1, 2, 3, 7, 8, 11, 16, 31, 45, 64, 65, 127, 200};
  }
  return out;
}

}  // namespace

TEST_CASE("the reach of decoder and flow follows from the configuration", "[vits][stream]") {
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
  high.couplings = 4;
  high.wavenet_layers = 4;
  high.wavenet_kernel = 5;
  CHECK(vits::flow_reach_frames(high) == 32);
}

TEST_CASE("the decoder in steps of any size gives the samples of the whole", "[vits][stream]") {
  const vits::TorchScope scope;
  for (const char* voice : {"piper_low", "piper_multi_high"}) {
    const Fixture model(voice);
    std::map<std::int64_t, std::vector<float>> wholes;
    for (const std::int64_t step : steps()) {
      for (const std::int64_t frames : {std::int64_t{1}, step - 1, step, step + 1, 2 * step, 2 * step + 5, 3 * step}) {
        if (frames < 1) continue;
        const at::Tensor latents = noise(frames, model.config().latent);
        auto& whole = wholes[frames];
        if (whole.empty()) whole = values(model.plain().decode(turned(latents), model.plain_voice()));
        INFO(voice << ", " << frames << " frames in steps of " << step);
        REQUIRE(distance(decoded(model, latents, step), whole) <= 1e-6);
      }
    }
  }
}

TEST_CASE("the flow in steps of any size gives the latents of the whole", "[vits][stream]") {
  const vits::TorchScope scope;
  for (const char* voice : {"piper_low", "piper_multi_high"}) {
    const Fixture model(voice);
    for (const std::int64_t step : steps()) {
      for (const std::int64_t frames : {std::int64_t{1}, step, step + 1, 3 * step}) {
        const at::Tensor prior = noise(frames, model.config().latent);
        const at::Tensor whole = model.plain().flow(turned(prior), model.plain_voice());
        const vits::FlowStream stream(model.graph->weights().flow, model.config(), frames, model.voice());
        INFO(voice << ", " << frames << " frames in steps of " << step);
        REQUIRE(distance(in_steps(stream, prior, step), values(whole[0].t())) <= 2e-6);
      }
    }
  }
}

TEST_CASE("windows of the whole decoder agree where they reach far enough, and only there", "[vits][stream]") {
  const vits::TorchScope scope;
  for (const char* voice : {"piper_low", "piper_multi_high"}) {
    const Fixture model(voice);
    const at::Tensor latents = noise(300, model.config().latent);
    const std::vector<float> streamed = decoded(model, latents, 64);
    const std::int64_t reach = vits::decoder_reach_frames(model.config());
    INFO(voice);
    CHECK(distance(in_windows(model, latents, 64, reach), streamed) <= 1e-6);
    CHECK(distance(in_windows(model, latents, 64, reach / 2), streamed) > 1e-6);
  }
}

TEST_CASE("a sentence's chunks follow the schedule, and are the whole", "[vits][stream]") {
  const vits::TorchScope scope;
  for (const char* voice : {"piper_low", "piper_multi_high"}) {
    const Fixture model(voice);
    for (const std::int64_t frames : {1, 2, 15, 16, 17, 47, 48, 49, 64, 111, 112, 113, 128, 300, 700}) {
      const at::Tensor prior = noise(frames, model.config().latent);
      vits::SentenceStream stream(
          model.graph->weights(), model.config(), frames, model.voice(),
          [&prior](std::int64_t first, std::int64_t count) { return prior.slice(0, first, first + count); });
      std::vector<float> samples;
      std::size_t chunks = 0;
      while (!stream.is_done()) {
        stream.run_flow();
        const auto chunk = values(stream.decode());
        if (chunks == 0 && frames > 16) CHECK(static_cast<std::int64_t>(chunk.size()) < 16 * model.config().hop());
        samples.insert(samples.end(), chunk.begin(), chunk.end());
        ++chunks;
      }
      const at::Tensor latents = model.plain().flow(turned(prior), model.plain_voice());
      INFO(voice << ", " << frames << " frames");
      CHECK(distance(samples, values(model.plain().decode(latents, model.plain_voice()))) <= 2e-6);
      CHECK(chunks == static_cast<std::size_t>(frames <= 16   ? 1
                                               : frames <= 32 ? 2
                                               : frames <= 64 ? 3
                                                              : 3 + (frames - 1) / 64));
    }
  }
}

// The child of the test below: LibTorch reads its switches once in a process. [.] keeps it out of normal runs.
TEST_CASE("child: speak sentences of many lengths after a warm-up", "[.shapes]") {
  const vits::TorchScope scope;
  const Fixture model("piper_multi_high");
  model.graph->warm_up();
  (void)!write(STDOUT_FILENO, "WARM\n", 5);
  for (std::size_t count = 1; count <= 70; ++count) {
    const std::vector<std::int32_t> ids(count * 7, 5);
    auto text = model.graph->encode(ids);
    REQUIRE(model.graph->durations(text, model.voice(), 0.8F, 1, 0).ok());
    const std::vector<std::int32_t> durations(ids.size(), static_cast<std::int32_t>(count % 5));
    auto stream = model.graph->stream({std::move(text), vits::spread(durations), 0.6F, 1, 0}, model.voice());
    while (!stream.is_done()) {
      stream.run_flow();
      (void)stream.decode();
    }
  }
  (void)!write(STDOUT_FILENO, "DONE\n", 5);
}

TEST_CASE("after a warm-up no sentence makes oneDNN compile anything", "[vits][stream]") {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("ONEDNN_VERBOSE", "profile_create", 1);
    dup2(pipe_ends[1], STDOUT_FILENO);
    execl("/proc/self/exe", "vits_test", "[.shapes]", nullptr);
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = read(pipe_ends[0], part.data(), part.size())) > 0;) {
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  const std::size_t warm = said.find("WARM\n");
  REQUIRE(warm != std::string::npos);
  REQUIRE(said.find("DONE\n", warm) != std::string::npos);
  const auto compiled = [&said](std::size_t from, std::size_t to) {
    std::size_t count = 0;
    for (std::size_t at = said.find("cache_miss", from); at < to; at = said.find("cache_miss", at + 1)) ++count;
    return count;
  };
  CHECK(compiled(0, warm) > 100);  // the words are understood
  CHECK(compiled(warm, said.size()) == 0);
}

}  // namespace timbre::vits_test
