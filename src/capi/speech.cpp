// SPDX-License-Identifier: MIT
//
// c/speech.h: opening an utterance and pulling its samples.
#include "timbre/c/speech.h"

#include "capi/arguments.hpp"
#include "capi/handles.hpp"
#include "capi/speech_arguments.hpp"

namespace timbre::capi {
namespace {

/// The voice of the request's lease, if it has one; its id becomes the request's.
Result<std::optional<voice::Voice>> leased_voice(EngineState& engine, OpenRequest& open) {
  if (open.lease == nullptr) return std::optional<voice::Voice>{};
  const Result<const bank::VoiceLease*> held = LeaseBook::find(open.lease);
  if (!held) return held.error();
  if (open.lease->owner != &engine.leases()) return invalid("the lease is another engine's");
  if (open.request.voice_id) return invalid("both a voice and a lease are given");
  open.request.voice_id = std::string((*held)->id());
  Result<voice::VoiceRecord> record = bank::record_of(engine.voices().device(), **held, device::Stream::kDefault);
  if (!record) return std::move(record).error();
  return std::optional(
      voice::Voice{std::make_shared<const voice::VoiceRecord>(std::move(*record)), (*held)->version().sequence});
}

/// The voice of a lease, or the stored one if it can be told without waiting, checked against the model; nothing if it
/// is looked up later.
Result<std::optional<voice::Voice>> pin_voice(EngineState& engine, OpenRequest& open, const speech::Model& model) {
  speech::Request& request = open.request;
  Result<std::optional<voice::Voice>> known = leased_voice(engine, open);
  if (!known) return known;
  if (Result<void> checked = speech::check_request(request, model); !checked) return std::move(checked).error();
  if (!*known && request.voice_id) known = engine.voices().source().try_get(*request.voice_id);
  if (!known || !*known) return known;
  const std::string what = fmt::format("voice '{}'", *request.voice_id);
  if (Result<void> fit = speech::check_fit(*(*known)->record, what, model.synthesizer->facts(), false); !fit) {
    return std::move(fit).error();
  }
  return known;
}

Result<std::unique_ptr<timbre_speech>> open_speech(const timbre_model& model, OpenRequest open) {
  EngineState& engine = *model.engine;
  Result<std::optional<voice::Voice>> voice = pin_voice(engine, open, *model.model);
  if (!voice) return std::move(voice).error();
  auto handle = std::make_unique<timbre_speech>();
  handle->engine = model.engine;
  handle->seed = open.request.seed;
  handle->read_timeout = open.read_timeout;
  auto utterance = std::make_unique<speech::Utterance>(model.model, std::move(open.request), engine.voice_source(),
                                                       std::move(*voice));
  handle->sample_rate_hz = utterance->sample_rate_hz();
  constexpr std::uint64_t kDefaultRingSeconds = 10;
  const std::uint64_t ring = open.ring_samples.value_or(kDefaultRingSeconds * handle->sample_rate_hz);
  handle->stream = std::make_shared<speech::SpeechStream>(engine.executor(), std::move(utterance), ring);
  if (!engine.add(handle->stream)) return Error{Status::kClosed, "the engine was destroyed"};
  handle->stream->start();
  return handle;
}

Result<Status> read_samples(timbre_speech* speech, float* out, std::uint64_t capacity, std::uint64_t* out_count,
                            bool wait) {
  if (out_count == nullptr) return invalid("out_count is NULL");
  *out_count = 0;
  if (speech == nullptr) return invalid("the handle is NULL");
  if (out == nullptr || capacity == 0) return invalid("out has no room");
  if (Result<void> open = check_open(speech); !open) return std::move(open).error();
  const auto timeout = wait ? speech->read_timeout : std::optional(std::chrono::milliseconds(0));
  Status status = Status::kOk;
  Result<std::size_t> count = speech->stream->read({out, static_cast<std::size_t>(capacity)}, timeout, status);
  if (!count) return std::move(count).error();
  *out_count = *count;
  if (status == Status::kPending && wait) status = Status::kTimeout;
  if (status == Status::kTimeout) return Error{Status::kTimeout, "no sample was ready before the read's deadline"};
  return status;
}

timbre_speech_details details_of(const timbre_speech& speech) {
  const speech::StreamSnapshot now = speech.stream->snapshot();
  timbre_speech_details details{};
  details.sample_rate_hz = speech.sample_rate_hz;
  details.samples_ready = now.samples_ready;
  details.samples_read = now.samples_read;
  details.samples_total = now.samples_total.value_or(TIMBRE_AUTO_U64);
  details.seed = speech.seed;
  details.voice_version = now.progress.voice_version;
  details.skipped_symbols = now.progress.skipped_symbols;
  details.split_pieces = now.progress.split_pieces;
  details.sentence_count = now.progress.sentence_count;
  details.precision = TIMBRE_PRECISION_FP32;
  details.empty_reason = static_cast<std::int32_t>(now.progress.empty_reason);
  details.state = static_cast<timbre_status>(now.state);
  return details;
}

timbre_speech_times times_of(const timbre_speech& speech) {
  const speech::StreamSnapshot now = speech.stream->snapshot();
  timbre_speech_times times{};
  times.chunk_count = now.progress.chunk_count;
  times.queue_us = now.times.queue_us.value_or(TIMBRE_AUTO_U64);
  times.text_us = now.progress.text_us;
  times.encoder_us = now.progress.stages.encoder_us;
  times.durations_us = now.progress.stages.durations_us;
  times.flow_us = now.progress.stages.flow_us;
  times.decoder_us = now.progress.stages.decoder_us;
  times.first_audio_us = now.times.first_audio_us.value_or(TIMBRE_AUTO_U64);
  times.total_us = now.times.total_us.value_or(TIMBRE_AUTO_U64);
  times.read_wait_us = now.times.read_wait_us;
  return times;
}

timbre_mark to_c(const speech::Mark& mark) {
  timbre_mark out{};
  out.token = mark.token;
  out.source_begin = mark.source.begin;
  out.source_end = mark.source.end;
  out.first_sample = mark.first_sample;
  out.sample_count = mark.sample_count;
  out.sentence = mark.sentence;
  return out;
}

timbre_chunk to_c(const speech::Chunk& chunk) {
  timbre_chunk out{};
  out.sentence = chunk.sentence;
  out.first_sample = chunk.first_sample;
  out.sample_count = chunk.sample_count;
  out.flow_us = chunk.flow_us;
  out.decoder_us = chunk.decoder_us;
  out.ready_us = chunk.ready_us;
  return out;
}

/// A page of what a stream keeps: of marks or chunks. `read` gives at most `capacity` of them.
template <typename Element, typename Read>
Result<Status> copy_page(timbre_speech* speech, std::uint64_t element_size, const char* size_name, Element* out,
                         std::uint64_t capacity, std::uint64_t* out_count, Read read) {
  if (out_count == nullptr) return invalid("out_count is NULL");
  *out_count = 0;
  if (Result<void> open = check_open(speech); !open) return std::move(open).error();
  if (out == nullptr || capacity == 0) return invalid("out has no room");
  if (Result<void> checked = check_element_size<Element>(element_size, size_name); !checked)
    return std::move(checked).error();
  const Status state = speech->stream->snapshot().state;
  const auto page = read(*speech->stream);
  if (page.empty()) return state == Status::kPending ? Status::kPending : Status::kDone;
  for (const auto& each : page) write_element(out, element_size, (*out_count)++, to_c(each));
  return Status::kOk;
}

}  // namespace
}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Result;
using timbre::Status;

extern "C" {

timbre_status timbre_speech_request_init(timbre_speech_request* request, uint32_t struct_size) {
  return guard([&] { return init_struct(request, struct_size, default_request()); });
}

timbre_status timbre_speech_open(timbre_model* model, const timbre_speech_request* request,
                                 timbre_speech** out_speech) {
  return guard([&]() -> Result<void> {
    if (out_speech == nullptr) return invalid("out_speech is NULL");
    *out_speech = nullptr;
    if (Result<void> open = check_open(model); !open) return open;
    Result<OpenRequest> owned = read_request(request);
    if (!owned) return std::move(owned).error();
    Result<std::unique_ptr<timbre_speech>> handle = open_speech(*model, std::move(*owned));
    if (!handle) return std::move(handle).error();
    *out_speech = handle->release();
    return {};
  });
}

timbre_status timbre_speech_read(timbre_speech* speech, float* out, uint64_t capacity, uint64_t* out_count) {
  return guard([&] { return read_samples(speech, out, capacity, out_count, true); });
}

timbre_status timbre_speech_try_read(timbre_speech* speech, float* out, uint64_t capacity, uint64_t* out_count) {
  return guard([&] { return read_samples(speech, out, capacity, out_count, false); });
}

timbre_status timbre_speech_cancel(timbre_speech* speech) {
  return guard([&]() -> Result<void> {
    if (Result<void> open = check_open(speech); !open) return open;
    speech->stream->cancel();
    return {};
  });
}

timbre_status timbre_speech_info(timbre_speech* speech, timbre_speech_details* out_details) {
  return guard([&]() -> Result<void> {
    if (Result<void> open = check_open(speech); !open) return open;
    return write_struct(out_details, details_of(*speech), "out_details");
  });
}

timbre_status timbre_speech_marks(timbre_speech* speech, uint64_t first, uint64_t mark_size, timbre_mark* out,
                                  uint64_t capacity, uint64_t* out_count) {
  return guard([&] {
    return copy_page(speech, mark_size, "mark_size", out, capacity, out_count,
                     [&](const timbre::speech::SpeechStream& stream) { return stream.marks(first, capacity); });
  });
}

timbre_status timbre_speech_chunks(timbre_speech* speech, uint64_t first, uint64_t chunk_size, timbre_chunk* out,
                                   uint64_t capacity, uint64_t* out_count) {
  return guard([&] {
    return copy_page(speech, chunk_size, "chunk_size", out, capacity, out_count,
                     [&](const timbre::speech::SpeechStream& stream) { return stream.chunks(first, capacity); });
  });
}

timbre_status timbre_speech_timeline(timbre_speech* speech, timbre_speech_times* out_times) {
  return guard([&]() -> Result<void> {
    if (Result<void> open = check_open(speech); !open) return open;
    return write_struct(out_times, times_of(*speech), "out_times");
  });
}

timbre_status timbre_speech_close(timbre_speech* speech) {
  return guard([&]() -> Result<void> {
    if (speech == nullptr) return {};
    speech->stream->cancel();
    delete speech;
    return {};
  });
}

}  // extern "C"
