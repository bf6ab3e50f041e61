// SPDX-License-Identifier: MIT
#include "vits/backend.hpp"

#include <algorithm>
#include <utility>

#include "vits/model_loader.hpp"
#include "vits/torch_thread.hpp"
#include "vits/vits_synthesizer.hpp"

namespace timbre::vits {
namespace {

struct Sentence {
  std::size_t id_count;
  std::int32_t frames_per_id;
};
/// Every kernel of a first chunk and a later one runs.
constexpr Sentence kWarmUp{32, 9};
/// Enough for every part of LibTorch that a sentence needs to make its process-wide objects (oneDNN is not asked for
/// less): what LibTorch makes later it destroys earlier at exit(), before our exit handler has stopped the worker.
constexpr Sentence kFirstTouch{8, 8};

/// Speaks `sentence` with forced durations and throws the samples away.
Result<void> speak(const VitsSynthesizer& model, const Sentence& sentence) {
  const std::vector<std::int32_t> ids(
      sentence.id_count, std::min<std::int32_t>(1, static_cast<std::int32_t>(model.facts().token_count) - 1));
  const std::vector<std::int32_t> durations(ids.size(), sentence.frames_per_id);
  const std::vector<float> voice(model.facts().voice_dim, 0.0F);
  speech::SegmentInput input;
  input.ids = ids;
  input.voice = voice;
  input.durations = durations;
  auto run = model.begin(input);
  if (!run) return run.error();
  if (auto prepared = (*run)->prepare(); !prepared) return prepared.error();
  std::vector<float> samples;
  for (;;) {
    auto more = (*run)->next(samples);
    if (!more) return more.error();
    if (!*more) return {};
  }
}

/// Progress of one load; false once the caller wants no more.
bool goes_on(const speech::Backend::LoadOptions& options, float fraction, const char* stage) {
  return !options.progress || options.progress(fraction, stage);
}

Result<std::unique_ptr<speech::Synthesizer>> load_in_torch(const speech::ModelFiles& files,
                                                           const speech::Backend::LoadOptions& options) {
  const Error cancelled{Status::kCancelled, "loading was cancelled"};
  if (!goes_on(options, 0.0F, "read")) return cancelled;
  auto loaded = load_model(files, options.warning);
  if (!loaded) return loaded.error();
  if (!goes_on(options, 0.4F, "build")) return cancelled;
  auto weights = build_weights(loaded->tensors, loaded->config, loaded->where);
  if (!weights) return weights.error();
  auto model = std::make_unique<VitsSynthesizer>(std::move(loaded->facts),
                                                 VitsGraph(std::move(loaded->config), std::move(*weights)));
  if (options.warm_up) {
    if (!goes_on(options, 0.7F, "warm-up")) return cancelled;
    model->graph().warm_up();
  }
  if (auto spoken = speak(*model, options.warm_up ? kWarmUp : kFirstTouch); !spoken) return spoken.error();
  if (!goes_on(options, 1.0F, options.warm_up ? "warm-up" : "build")) return cancelled;
  return std::unique_ptr<speech::Synthesizer>(std::move(model));
}

}  // namespace

void TorchBackend::enter_thread(std::uint32_t thread_count) { prepare_torch_thread(thread_count); }

Result<std::unique_ptr<speech::Synthesizer>> TorchBackend::load(const speech::ModelFiles& files,
                                                                const LoadOptions& options) {
  return guarded("loading a model", [&] { return load_in_torch(files, options); });
}

}  // namespace timbre::vits
