// SPDX-License-Identifier: MIT
#include "capi/speech_arguments.hpp"

#include <random>

#include "capi/arguments.hpp"
#include "capi/voice_arguments.hpp"

namespace timbre::capi {

template <>
inline constexpr std::uint32_t kFirstSize<timbre_speech_request> = offsetof(timbre_speech_request, lease);

namespace {

constexpr std::uint32_t kMaxSilenceMs = 60'000;

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

Result<void> read_input(const timbre_speech_request& given, speech::Request& request) {
  if (given.input_kind < TIMBRE_INPUT_TEXT || given.input_kind > TIMBRE_INPUT_IDS) {
    return invalid(fmt::format("input_kind {} is unknown", given.input_kind));
  }
  request.kind = static_cast<speech::InputKind>(given.input_kind);
  if (request.kind != speech::InputKind::kIds) {
    if (given.text == nullptr) return invalid("text is NULL");
    Result<std::string> text = read_text(given.text, given.text_bytes, "text");
    if (!text) return std::move(text).error();
    request.text = std::move(*text);
    if (given.duration_count > 0) return invalid("durations need token ids as input");
    return {};
  }
  if (given.ids == nullptr && given.id_count > 0) return invalid("ids is NULL");
  if (given.durations == nullptr && given.duration_count > 0) return invalid("durations is NULL");
  if (given.id_count > speech::kMaxSegmentIds || given.duration_count > speech::kMaxSegmentIds) {
    return invalid(fmt::format("{} token ids and {} durations, at most {} fit into one request", given.id_count,
                               given.duration_count, speech::kMaxSegmentIds));
  }
  if (given.durations != nullptr && given.duration_count == 0 && given.id_count > 0) {
    return invalid(fmt::format("0 durations for {} token ids", given.id_count));
  }
  request.ids.assign(given.ids, given.ids + given.id_count);
  request.durations.assign(given.durations, given.durations + given.duration_count);
  return {};
}

Result<void> read_voice(const timbre_speech_request& given, speech::Request& request) {
  if (given.voice != nullptr) {
    Result<std::string> id = read_voice_id(given.voice);
    if (!id) return std::move(id).error();
    request.voice_id = std::move(*id);
  }
  if (given.tensor_count > 0) {
    Result<std::vector<voice::Tensor>> tensors = read_tensors(given.tensors, given.tensor_count, given.tensor_size);
    if (!tensors) return std::move(tensors).error();
    request.inline_voice.emplace().tensors = std::move(*tensors);
  }
  request.speaker = read_auto(given.speaker);
  return {};
}

Result<void> read_output(const timbre_speech_request& given, OpenRequest& open) {
  if (given.unknown_symbols != TIMBRE_UNKNOWN_COUNT && given.unknown_symbols != TIMBRE_UNKNOWN_ERROR) {
    return invalid(fmt::format("unknown_symbols {} is unknown", given.unknown_symbols));
  }
  open.request.unknown_is_error = given.unknown_symbols == TIMBRE_UNKNOWN_ERROR;
  if ((given.flags & ~TIMBRE_SPEECH_RANDOM_SEED) != 0)
    return invalid(fmt::format("flags {:#x} has unknown bits", given.flags));
  open.request.seed = (given.flags & TIMBRE_SPEECH_RANDOM_SEED) != 0 ? random_seed() : given.seed;
  open.request.gain = given.gain;
  if (given.sentence_silence_ms > kMaxSilenceMs) {
    return invalid(fmt::format("sentence_silence_ms {} is above {}", given.sentence_silence_ms, kMaxSilenceMs));
  }
  open.request.sentence_silence_ms = given.sentence_silence_ms;
  if (given.output_sample_rate_hz == 0) return invalid("output_sample_rate_hz is 0");
  open.request.output_sample_rate_hz = given.output_sample_rate_hz == TIMBRE_AUTO_U32 ? 0 : given.output_sample_rate_hz;
  if (given.ring_samples != TIMBRE_AUTO_U64) open.ring_samples = given.ring_samples;
  if (open.ring_samples == std::uint64_t{0}) return invalid("ring_samples is 0");
  if (given.read_timeout_ms < -1) return invalid(fmt::format("read_timeout_ms {} is below -1", given.read_timeout_ms));
  if (given.read_timeout_ms >= 0) open.read_timeout = std::chrono::milliseconds(given.read_timeout_ms);
  return {};
}

}  // namespace

timbre_speech_request default_request() {
  timbre_speech_request request{};
  request.struct_size = sizeof request;
  request.tensor_size = sizeof(timbre_tensor);
  request.speaker = TIMBRE_AUTO_I32;
  request.noise_scale = TIMBRE_AUTO_F32;
  request.length_scale = TIMBRE_AUTO_F32;
  request.noise_w = TIMBRE_AUTO_F32;
  request.gain = 1.0F;
  request.output_sample_rate_hz = TIMBRE_AUTO_U32;
  request.read_timeout_ms = -1;
  request.ring_samples = TIMBRE_AUTO_U64;
  return request;
}

Result<OpenRequest> read_request(const timbre_speech_request* in) {
  Result<timbre_speech_request> given = read_struct(in, default_request(), "request");
  if (!given) return std::move(given).error();
  OpenRequest open;
  if (Result<void> read = read_input(*given, open.request); !read) return std::move(read).error();
  if (Result<void> read = read_voice(*given, open.request); !read) return std::move(read).error();
  if (Result<void> read = read_output(*given, open); !read) return std::move(read).error();
  open.lease = given->lease;
  open.request.scales = {read_auto(given->noise_scale), read_auto(given->length_scale), read_auto(given->noise_w)};
  return open;
}

}  // namespace timbre::capi
