// SPDX-License-Identifier: MIT
//
// Synthesizer: what speech asks of a model, whatever computes it. Implemented by the VITS graph (src/vits) and by the
// deterministic tone synthesizer (tone_synthesizer.hpp); both pass the same contract suite.
//
// Invariants
//   * A Synthesizer is immutable after it was made; any number of runs of it exist at once.
//   * A run is a pure function of its SegmentInput: same input, same samples, bit for bit, whatever else happens.
//   * All members are called on engine threads only (LibTorch is never entered on a host's thread).
//   * Samples are finite; what drives a model out of numbers (a damaged file, an absurd scale) is kFormat.
//   * The chunk schedule of a run is a function of the model and its frame count only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "speech/model_files.hpp"
#include "timbre/core/result.hpp"

namespace timbre::speech {

/// The longest input of one run, in token ids.
inline constexpr std::size_t kMaxSegmentIds = 2048;

/// Facts about a model that do not change.
struct ModelFacts {
  std::string family;       ///< "piper", "hf-vits", "tone"
  std::string name;         ///< from the file, may be empty
  std::string fingerprint;  ///< 32 hex digits
  std::string precision = "fp32";
  std::uint32_t sample_rate_hz = 0;
  std::uint32_t hop_samples = 0;
  std::uint32_t token_count = 0;    ///< ids are 0..token_count-1
  std::uint32_t speaker_count = 1;  ///< rows of the model's own speaker table; 1 for a single-speaker model
  std::uint32_t voice_dim = 0;      ///< length of "g"; 0 = no conditioning
  std::int32_t default_speaker =
      -1;  ///< used when a request names none; -1 = the request must name one if there are several
  std::vector<std::string> speaker_names;  ///< empty, or speaker_count names
  float noise_scale = 0.667F;
  float length_scale = 1.0F;
  float noise_w = 0.8F;
  bool side_by_side = false;  ///< a run on one thread beside others was seen to give the bits of a run alone
};

/// One sentence to synthesise. Spans stay valid until the run is destroyed.
struct SegmentInput {
  std::span<const std::int32_t> ids;        ///< 1..kMaxSegmentIds, each checked against token_count by the caller
  std::span<const float> voice;             ///< "g", voice_dim floats, or empty when voice_dim is 0
  std::span<const std::int32_t> durations;  ///< forced frames per id, or empty
  float noise_scale = 0;
  float length_scale = 1;
  float noise_w = 0;
  std::uint64_t seed = 0;
  std::uint32_t segment = 0;  ///< index of the sentence in its utterance: part of the noise counter
};

/// Stage times of one run in microseconds.
struct StageTimes {
  std::uint64_t encoder_us = 0;
  std::uint64_t durations_us = 0;
  std::uint64_t flow_us = 0;
  std::uint64_t decoder_us = 0;
};

/// A sentence being synthesised.
class SegmentRun {
 public:
  virtual ~SegmentRun() = default;

  /// Encoder and durations, piece by piece: false as long as there is more to prepare. When it gives true, frames() is
  /// known and the first chunk may be asked for.
  virtual Result<bool> prepare() = 0;
  /// Frames per id, [ids]; after prepare().
  [[nodiscard]] virtual std::span<const std::int32_t> frames() const = 0;
  /// Appends the next chunk of samples to `out`. False when there is no more; then nothing is appended.
  virtual Result<bool> next(std::vector<float>& out) = 0;
  [[nodiscard]] virtual StageTimes times() const = 0;
};

class Synthesizer {
 public:
  virtual ~Synthesizer() = default;

  [[nodiscard]] virtual const ModelFacts& facts() const = 0;
  /// The vector "g" of a speaker, [voice_dim]; kUnsupported without conditioning, kInvalidArgument out of range.
  [[nodiscard]] virtual Result<std::vector<float>> speaker_vector(std::int32_t speaker) const = 0;
  /// Starts a sentence. Cheap; the work is in the run.
  virtual Result<std::unique_ptr<SegmentRun>> begin(const SegmentInput& input) const = 0;
};

/// Progress of a load: fraction 0..1 and stage. Returns false to cancel.
using LoadProgress = std::function<bool(float fraction, const char* stage)>;
/// Warnings of a load, for the engine's log.
using LoadWarning = std::function<void(std::string line)>;

/// What a back end (libtimbre-torch.so) offers.
class Backend {
 public:
  virtual ~Backend() = default;

  struct LoadOptions {
    bool warm_up = true;
    LoadProgress progress;  ///< may be empty
    LoadWarning warning;    ///< may be empty
  };

  /// Prepares the calling engine thread for the back end: its own thread count, inference mode. Once for each thread.
  virtual void enter_thread(std::uint32_t thread_count) = 0;
  /// Calls `lane`, which throws nothing, on each of the entered thread's own threads at once; what `lane` computes it
  /// computes on one of them. Returns when all calls have returned. On an entered thread.
  virtual void side_by_side(const std::function<void()>& lane) = 0;
  /// Builds a model from its parts. On an engine thread.
  virtual Result<std::unique_ptr<Synthesizer>> load(const ModelFiles& files, const LoadOptions& options) = 0;
};

/// The one symbol of libtimbre-torch.so, `timbre_torch_backend_v1`. `build` is the caller's TIMBRE_BACKEND_BUILD, a
/// hash of this interface and the version that the build system gives to both sides; another one is answered with null.
/// The object is static.
using BackendEntry = Backend* (*)(const char* build);
inline constexpr const char* kBackendEntryName = "timbre_torch_backend_v1";

}  // namespace timbre::speech
