// SPDX-License-Identifier: MIT
#include "vits/backend.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
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

/// The samples of `sentence` with forced durations.
Result<std::vector<float>> speak(const VitsSynthesizer& model, const Sentence& sentence) {
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
  for (bool is_prepared = false; !is_prepared;) {
    auto prepared = (*run)->prepare();
    if (!prepared) return prepared.error();
    is_prepared = *prepared;
  }
  std::vector<float> samples;
  for (;;) {
    auto more = (*run)->next(samples);
    if (!more) return more.error();
    if (!*more) return samples;
  }
}

/// Whether one thread beside others gives the bits that all threads together give.
bool agrees_side_by_side(TorchBackend& backend, const VitsSynthesizer& model, const std::vector<float>& alone) {
  std::atomic<bool> agrees{true};
  backend.side_by_side([&] {
    const auto beside = speak(model, kWarmUp);
    if (!beside || *beside != alone) agrees = false;
  });
  return agrees;
}

/// Progress of one load; false once the caller wants no more.
bool goes_on(const speech::Backend::LoadOptions& options, float fraction, const char* stage) {
  return !options.progress || options.progress(fraction, stage);
}

Result<std::unique_ptr<speech::Synthesizer>> load_in_torch(TorchBackend& backend, const speech::ModelFiles& files,
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
  const auto spoken = speak(*model, options.warm_up ? kWarmUp : kFirstTouch);
  if (!spoken) return spoken.error();
  if (options.warm_up && agrees_side_by_side(backend, *model, *spoken)) model->allow_side_by_side();
  if (!goes_on(options, 1.0F, options.warm_up ? "warm-up" : "build")) return cancelled;
  return std::unique_ptr<speech::Synthesizer>(std::move(model));
}

}  // namespace

void TorchBackend::enter_thread(std::uint32_t thread_count) { prepare_torch_thread(thread_count); }

void TorchBackend::side_by_side(const std::function<void()>& lane) {
  at::parallel_for(0, at::get_num_threads(), 1, [&lane](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) lane();
  });
}

Result<std::unique_ptr<speech::Synthesizer>> TorchBackend::load(const speech::ModelFiles& files,
                                                                const LoadOptions& options) {
  return guarded("loading a model", [&] { return load_in_torch(*this, files, options); });
}

}  // namespace timbre::vits
