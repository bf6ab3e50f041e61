// SPDX-License-Identifier: MIT
//
// Utterance: the producer side of one speech request: text -> sentences -> runs of the synthesizer -> samples.
//
// Each call of step() does one bounded piece of work (the text of a sentence and a piece of its encoder, or one chunk
// of audio), so that many utterances share one worker. It knows nothing of readers, buffers or threads.
//
// Invariants
//   * step() is called by one engine thread at a time.
//   * The samples are a function of the request, the voice version and the model only, never of how steps interleave.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/front_end.hpp"
#include "speech/resampler.hpp"
#include "speech/synthesizer.hpp"
#include "voice/voice_source.hpp"

namespace timbre::speech {

/// A loaded model: what computes, and what reads its text (null: token ids and nothing else).
struct Model {
  std::unique_ptr<Synthesizer> synthesizer;
  std::unique_ptr<frontend::FrontEnd> front_end;
};

enum class InputKind : std::int32_t { kText = 0, kPhonemes = 1, kIds = 2 };

/// A request with everything owned and checked (see check_request).
struct Request {
  InputKind kind = InputKind::kText;
  std::string text;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> durations;             ///< frames per id, or empty
  std::optional<std::string> voice_id;             ///< a stored voice
  std::optional<voice::VoiceRecord> inline_voice;  ///< tensors given with the request
  std::optional<std::int32_t> speaker;             ///< row of the model's own table
  voice::Scales scales;                            ///< of the request; they win over the voice's
  bool unknown_is_error = false;
  float gain = 1;
  std::uint64_t seed = 0;
  std::uint32_t sentence_silence_ms = 0;
  std::uint32_t output_sample_rate_hz = 0;  ///< 0 = the model's
};

/// Everything about a request that can be told without I/O: ids, durations, scales, choice of voice, rates.
Result<void> check_request(const Request& request, const Model& model);

/// Index, source and time of one token, at the output sample rate.
struct Mark {
  std::int32_t token = 0;
  frontend::SourceRange source;
  std::uint64_t first_sample = 0;
  std::uint64_t sample_count = 0;
  std::uint32_t sentence = 0;
};

/// One chunk of audio and what it cost. Samples at the output sample rate.
struct Chunk {
  std::uint32_t sentence = 0;
  std::uint64_t first_sample = 0;
  std::uint64_t sample_count = 0;
  std::uint64_t flow_us = 0;
  std::uint64_t decoder_us = 0;
  std::uint64_t ready_us = 0;  ///< from open until its samples could be read; set by the stream
};

enum class EmptyReason : std::int32_t { kNotEmpty = 0, kNoText = 1, kNoKnownSymbol = 2 };

/// What an utterance tells beside its samples. Copied out after each step.
struct Progress {
  std::uint64_t voice_version = 0;
  std::uint64_t skipped_symbols = 0;
  std::uint64_t split_pieces = 0;
  std::uint32_t sentence_count = 0;
  EmptyReason empty_reason = EmptyReason::kNotEmpty;
  StageTimes stages;
  std::uint64_t text_us = 0;
  std::uint32_t chunk_count = 0;
};

/// What one step gave.
struct StepOutput {
  std::vector<float> samples;
  std::vector<Mark> marks;
  std::optional<Chunk> chunk;  ///< whose samples are the last ones
  bool done = false;
};

class Utterance {
 public:
  /// `voice` is the version pinned at open where it was known then, else it is looked up in the first step.
  Utterance(std::shared_ptr<const Model> model, Request request, std::shared_ptr<voice::VoiceSource> voices,
            std::optional<voice::Voice> voice);

  /// Does the next piece of work. `cancelled` is looked at between stages; it ends with kCancelled.
  Result<StepOutput> step(const std::atomic<bool>& cancelled);

  [[nodiscard]] const Progress& progress() const { return progress_; }
  [[nodiscard]] std::uint32_t sample_rate_hz() const;
  /// Whether steps of other utterances may be done at the same time.
  [[nodiscard]] bool runs_side_by_side() const { return model_->synthesizer->facts().side_by_side; }

 private:
  Result<void> start();
  Result<bool> next_sentence();
  Result<void> begin_sentence(StepOutput& out);
  Result<void> prepare(StepOutput& out);
  void count_stages();
  Result<bool> next_chunk(StepOutput& out);
  void add_marks(StepOutput& out);
  Result<void> deliver(std::span<const float> samples, bool last, std::vector<float>& out);
  Result<StepOutput> finish(StepOutput out);
  [[nodiscard]] std::uint64_t at_output_rate(std::uint64_t samples) const;

  std::shared_ptr<const Model> model_;
  Request request_;
  std::shared_ptr<voice::VoiceSource> voices_;
  std::optional<voice::Voice> voice_;

  bool started_ = false;
  std::vector<float> g_;
  voice::Scales scales_;
  std::unique_ptr<Resampler> resampler_;
  std::unique_ptr<frontend::TextCursor> cursor_;
  frontend::Sentence sentence_;
  std::unique_ptr<SegmentRun> run_;
  bool is_prepared_ = false;  // run_
  StageTimes finished_stages_;
  std::uint64_t model_samples_ = 0;  // delivered so far, at the model's rate
  std::uint64_t output_samples_ = 0;
  Progress progress_;
};

}  // namespace timbre::speech
