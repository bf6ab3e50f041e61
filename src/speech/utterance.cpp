// SPDX-License-Identifier: MIT
#include "speech/utterance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "speech/voice_binding.hpp"

namespace timbre::speech {
namespace {

constexpr std::int32_t kMaxForcedFrames = 65'535;
constexpr std::uint32_t kMinOutputHz = 8'000;
constexpr std::uint32_t kMaxOutputHz = 192'000;

Error invalid(std::string message) { return {Status::kInvalidArgument, std::move(message)}; }

std::string voice_name(const Request& request) { return fmt::format("voice '{}'", *request.voice_id); }

std::uint64_t elapsed_us(std::chrono::steady_clock::time_point since) {
  const auto elapsed = std::chrono::steady_clock::now() - since;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
}

Result<void> check_ids(const Request& request, const ModelFacts& facts) {
  if (request.ids.size() > kMaxSegmentIds) {
    return invalid(fmt::format("{} token ids, at most {} fit into one request", request.ids.size(), kMaxSegmentIds));
  }
  for (std::size_t i = 0; i < request.ids.size(); ++i) {
    const std::int32_t id = request.ids[i];
    if (id < 0 || static_cast<std::uint32_t>(id) >= facts.token_count) {
      return Error{Status::kInvalidToken, fmt::format("token id {} at index {} is out of range, the model has 0..{}",
                                                      id, i, facts.token_count - 1)};
    }
  }
  if (request.durations.empty()) return {};
  if (request.durations.size() != request.ids.size()) {
    return invalid(fmt::format("{} durations for {} token ids", request.durations.size(), request.ids.size()));
  }
  for (std::size_t i = 0; i < request.durations.size(); ++i) {
    if (request.durations[i] < 0 || request.durations[i] > kMaxForcedFrames) {
      return invalid(
          fmt::format("duration {} at index {} is outside 0..{} frames", request.durations[i], i, kMaxForcedFrames));
    }
  }
  return {};
}

Result<void> check_voice_choice(const Request& request, const ModelFacts& facts) {
  const int chosen = static_cast<int>(request.voice_id.has_value()) +
                     static_cast<int>(request.inline_voice.has_value()) + static_cast<int>(request.speaker.has_value());
  if (chosen > 1) return invalid("more than one of voice, tensors and speaker is given");
  if (request.voice_id) return {};
  if (!request.inline_voice) return check_speaker(request.speaker, facts);
  if (Result<void> checked = voice::check(*request.inline_voice); !checked) return checked;
  return check_fit(*request.inline_voice, "the request's voice", facts, true);
}

/// The first value that is set.
float pick(const std::optional<float>& first, const std::optional<float>& second, float fallback) {
  return first ? *first : second.value_or(fallback);
}

}  // namespace

Result<void> check_request(const Request& request, const Model& model) {
  const ModelFacts& facts = model.synthesizer->facts();
  if (request.kind == InputKind::kIds) {
    if (Result<void> checked = check_ids(request, facts); !checked) return checked;
  } else {
    if (!request.durations.empty()) return invalid("durations need token ids as input");
    if (!model.front_end) {
      return Error{Status::kUnsupported, "the model came without a text configuration: only token ids can be spoken"};
    }
  }
  if (Result<void> checked = voice::check(request.scales); !checked) return checked;
  if (!std::isfinite(request.gain) || request.gain < 0) {
    return invalid(fmt::format("gain is {}, expected a finite value >= 0", request.gain));
  }
  const std::uint32_t rate = request.output_sample_rate_hz;
  if (rate != 0 && (rate < kMinOutputHz || rate > kMaxOutputHz)) {
    return invalid(fmt::format("output sample rate {} Hz is outside {}..{}", rate, kMinOutputHz, kMaxOutputHz));
  }
  return check_voice_choice(request, facts);
}

Utterance::Utterance(std::shared_ptr<const Model> model, Request request, std::shared_ptr<voice::VoiceSource> voices,
                     std::optional<voice::Voice> voice)
    : model_(std::move(model)), request_(std::move(request)), voices_(std::move(voices)), voice_(std::move(voice)) {}

Result<StepOutput> Utterance::step(const std::atomic<bool>& cancelled) {
  StepOutput out;
  if (!started_) {
    if (Result<void> begun = start(); !begun) return std::move(begun).error();
    started_ = true;
  }
  if (!run_) {
    Result<bool> more = next_sentence();
    if (!more) return std::move(more).error();
    if (!*more) return finish(std::move(out));
    if (Result<void> begun = begin_sentence(out); !begun) return std::move(begun).error();
    if (cancelled) return Error{Status::kCancelled, "the utterance was cancelled"};
  }
  if (!is_prepared_) {
    if (Result<void> prepared = prepare(out); !prepared) return std::move(prepared).error();
    if (cancelled) return Error{Status::kCancelled, "the utterance was cancelled"};
    if (!is_prepared_) return out;
  }
  Result<bool> more = next_chunk(out);
  if (!more) return std::move(more).error();
  if (!*more) run_.reset();
  return out;
}

Result<void> Utterance::start() {
  const Synthesizer& synthesizer = *model_->synthesizer;
  Result<std::vector<float>> g = std::vector<float>{};
  if (request_.voice_id) {
    if (!voice_) {
      Result<voice::Voice> found = voices_->get(*request_.voice_id);
      if (!found) return std::move(found).error();
      voice_ = std::move(*found);
    }
    if (Result<void> fit = check_fit(*voice_->record, voice_name(request_), synthesizer.facts(), false); !fit)
      return fit;
    progress_.voice_version = voice_->version;
    scales_ = voice_->record->scales;
    g = bind_record(*voice_->record, synthesizer);
  } else if (request_.inline_voice) {
    g = bind_record(*request_.inline_voice, synthesizer);
  } else {
    g = bind_speaker(request_.speaker, synthesizer);
  }
  if (!g) return std::move(g).error();
  g_ = std::move(*g);
  const std::uint32_t model_rate = synthesizer.facts().sample_rate_hz;
  if (request_.output_sample_rate_hz != 0 && request_.output_sample_rate_hz != model_rate) {
    Result<std::unique_ptr<Resampler>> made = Resampler::make(model_rate, request_.output_sample_rate_hz);
    if (!made) return std::move(made).error();
    resampler_ = std::move(*made);
  }
  if (request_.kind == InputKind::kIds) return {};
  const auto kind = request_.kind == InputKind::kText ? frontend::InputKind::kText : frontend::InputKind::kPhonemes;
  Result<std::unique_ptr<frontend::TextCursor>> cursor = model_->front_end->open(request_.text, kind);
  if (!cursor) return std::move(cursor).error();
  cursor_ = std::move(*cursor);
  return {};
}

/// Fills sentence_ with what is spoken next; false at the end of the request.
Result<bool> Utterance::next_sentence() {
  if (!cursor_) {
    if (progress_.sentence_count > 0 || request_.ids.empty()) return false;
    sentence_.ids = request_.ids;
    sentence_.ranges.assign(request_.ids.size(), {});
    return true;
  }
  const auto begin = std::chrono::steady_clock::now();
  sentence_ = {};
  Result<bool> more = cursor_->next(sentence_);
  progress_.text_us += elapsed_us(begin);
  if (!more) return more;
  const std::uint64_t skipped = *more ? sentence_.skipped_symbols : cursor_->skipped_at_end();
  progress_.skipped_symbols += skipped;
  if (skipped > 0 && request_.unknown_is_error) {
    return Error{Status::kInvalidToken,
                 sentence_.first_skipped.empty()
                     ? fmt::format("the model knows none of the text's symbols; {} were skipped", skipped)
                     : fmt::format("the model does not know {} symbol(s) of the text, the first is '{}'", skipped,
                                   sentence_.first_skipped)};
  }
  if (!*more) return false;
  if (sentence_.split) ++progress_.split_pieces;
  const ModelFacts& facts = model_->synthesizer->facts();
  for (const std::int32_t id : sentence_.ids) {
    if (id < 0 || static_cast<std::uint32_t>(id) >= facts.token_count) {
      return Error{Status::kInvalidToken, fmt::format("the text configuration gives token id {}, the model has 0..{}",
                                                      id, facts.token_count - 1)};
    }
  }
  return true;
}

Result<void> Utterance::begin_sentence(StepOutput& out) {
  const ModelFacts& facts = model_->synthesizer->facts();
  if (progress_.sentence_count > 0 && request_.sentence_silence_ms > 0) {
    const std::uint64_t silence = std::uint64_t{request_.sentence_silence_ms} * facts.sample_rate_hz / 1000;
    if (Result<void> done = deliver(std::vector<float>(silence, 0.0F), false, out.samples); !done) return done;
  }
  SegmentInput input;
  input.ids = sentence_.ids;
  input.voice = g_;
  input.durations = request_.durations;
  input.noise_scale = pick(request_.scales.noise, scales_.noise, facts.noise_scale);
  input.length_scale = pick(request_.scales.length, scales_.length, facts.length_scale);
  input.noise_w = pick(request_.scales.noise_w, scales_.noise_w, facts.noise_w);
  input.seed = request_.seed;
  input.segment = progress_.sentence_count;
  Result<std::unique_ptr<SegmentRun>> run = model_->synthesizer->begin(input);
  if (!run) return std::move(run).error();
  run_ = std::move(*run);
  is_prepared_ = false;
  finished_stages_ = progress_.stages;
  return {};
}

/// The next piece of what comes before the first chunk.
Result<void> Utterance::prepare(StepOutput& out) {
  Result<bool> prepared = run_->prepare();
  count_stages();
  if (!prepared) return std::move(prepared).error();
  is_prepared_ = *prepared;
  if (!is_prepared_) return {};
  add_marks(out);
  ++progress_.sentence_count;
  return {};
}

void Utterance::count_stages() {
  const StageTimes times = run_->times();
  progress_.stages.encoder_us = finished_stages_.encoder_us + times.encoder_us;
  progress_.stages.durations_us = finished_stages_.durations_us + times.durations_us;
  progress_.stages.flow_us = finished_stages_.flow_us + times.flow_us;
  progress_.stages.decoder_us = finished_stages_.decoder_us + times.decoder_us;
}

std::uint32_t Utterance::sample_rate_hz() const {
  return request_.output_sample_rate_hz != 0 ? request_.output_sample_rate_hz
                                             : model_->synthesizer->facts().sample_rate_hz;
}

void Utterance::add_marks(StepOutput& out) {
  const std::uint32_t hop = model_->synthesizer->facts().hop_samples;
  const std::span<const std::int32_t> frames = run_->frames();
  std::uint64_t at = model_samples_;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::uint64_t next = at + static_cast<std::uint64_t>(frames[i]) * hop;
    Mark mark;
    mark.token = sentence_.ids[i];
    mark.source = sentence_.ranges[i];
    mark.first_sample = at_output_rate(at);
    mark.sample_count = at_output_rate(next) - mark.first_sample;
    mark.sentence = progress_.sentence_count;
    out.marks.push_back(mark);
    at = next;
  }
}

std::uint64_t Utterance::at_output_rate(std::uint64_t samples) const {
  if (!resampler_) return samples;
  return samples * request_.output_sample_rate_hz / model_->synthesizer->facts().sample_rate_hz;
}

/// Appends the next chunk of the run; false when the sentence is finished.
Result<bool> Utterance::next_chunk(StepOutput& out) {
  std::vector<float> samples;
  const StageTimes before = run_->times();
  Result<bool> more = run_->next(samples);
  count_stages();
  if (!more || !*more) return more;
  ++progress_.chunk_count;
  const std::uint64_t first = output_samples_;
  if (Result<void> done = deliver(samples, false, out.samples); !done) return std::move(done).error();
  const StageTimes after = run_->times();
  out.chunk =
      Chunk{progress_.sentence_count - 1,         first, output_samples_ - first, after.flow_us - before.flow_us,
            after.decoder_us - before.decoder_us, 0};
  return true;
}

/// Model samples -> resampled, scaled and limited samples at the end of `out`.
Result<void> Utterance::deliver(std::span<const float> samples, bool last, std::vector<float>& out) {
  model_samples_ += samples.size();
  const std::size_t first = out.size();
  if (resampler_) {
    if (Result<void> done = resampler_->process(samples, last, out); !done) return done;
  } else {
    out.insert(out.end(), samples.begin(), samples.end());
  }
  output_samples_ += out.size() - first;
  for (std::size_t i = first; i < out.size(); ++i) out[i] = std::clamp(out[i] * request_.gain, -1.0F, 1.0F);
  return {};
}

Result<StepOutput> Utterance::finish(StepOutput out) {
  if (resampler_ && model_samples_ > 0) {
    if (Result<void> done = deliver({}, true, out.samples); !done) return std::move(done).error();
  }
  if (progress_.sentence_count == 0) {
    progress_.empty_reason = progress_.skipped_symbols > 0 ? EmptyReason::kNoKnownSymbol : EmptyReason::kNoText;
  }
  out.done = true;
  return out;
}

}  // namespace timbre::speech
