// SPDX-License-Identifier: MIT
//
// timbre say: text, phonemes or ids to a WAV file, a WAV stream or raw samples.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "options.hpp"
#include "text_source.hpp"
#include "timbre/timbre.hpp"
#include "voice_file.hpp"
#include "wav_writer.hpp"

namespace timbre::tools {
namespace {

using Clock = std::chrono::steady_clock;

bool is_separator(char character) { return std::string_view(" ,\n\t").find(character) != std::string_view::npos; }

/// Numbers between blanks or commas.
std::vector<std::int32_t> parse_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    at = std::find_if_not(at, end, is_separator);
    if (at == end) return ids;
    std::int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{}) {
      const std::string_view word(at, std::find_if(at, end, is_separator));
      throw std::runtime_error(fmt::format("--ids: '{}' at index {} is no token id", word.substr(0, 40), ids.size()));
    }
    ids.push_back(id);
    at = next;
  }
}

/// An index as it stands, else the speaker of this name.
std::int32_t find_speaker(const Model& model, const std::string& wanted) {
  std::int32_t index = 0;
  const char* end = wanted.data() + wanted.size();
  const auto [next, error] = std::from_chars(wanted.data(), end, index);
  if (error == std::errc{} && next == end) return index;
  const auto count = static_cast<std::int32_t>(model.info().speaker_count);
  for (std::int32_t speaker = 0; speaker < count; ++speaker) {
    if (model.speaker_name(speaker) == wanted) return speaker;
  }
  throw std::runtime_error(fmt::format("this model has no speaker named {}; timbre info lists them", wanted));
}

void apply(const Options& options, const Model& model, Request& request) {
  if (options.speaker) request.speaker = find_speaker(model, *options.speaker);
  if (options.noise_scale) request.noise_scale = *options.noise_scale;
  if (options.length_scale) request.length_scale = *options.length_scale;
  if (options.noise_w) request.noise_w = *options.noise_w;
  if (options.gain) request.gain = *options.gain;
  if (options.seed) request.seed = *options.seed;
  if (options.random_seed) request.flags |= TIMBRE_SPEECH_RANDOM_SEED;
  if (options.rate_hz) request.output_sample_rate_hz = *options.rate_hz;
  if (options.sentence_silence_s) {
    request.sentence_silence_ms = static_cast<std::uint32_t>(std::lround(*options.sentence_silence_s * 1000));
  }
}

/// A voice that does not fit is told by its file.
Speech open(const Model& model, const Request& request, const Options& options) {
  try {
    return model.speak(request);
  } catch (const Exception& error) {
    if (!options.voice_file || error.status() != TIMBRE_ERR_MISMATCH) throw;
    throw Exception(error.status(), fmt::format("{}: {}", *options.voice_file, error.what()));
  }
}

std::string milliseconds(std::uint64_t us) {
  return us == TIMBRE_AUTO_U64 ? "-" : fmt::format("{:.1f} ms", static_cast<double>(us) / 1000);
}

void print_stats(const Model& model, const Speech& speech, double load_seconds) {
  const timbre_model_details facts = model.info();
  const timbre_speech_details details = speech.info();
  const timbre_speech_times times = speech.timeline();
  const double audio_seconds = static_cast<double>(details.samples_read) / details.sample_rate_hz;
  const double total_seconds = times.total_us == TIMBRE_AUTO_U64 ? 0 : static_cast<double>(times.total_us) * 1e-6;
  fmt::print(stderr, "model        {} ({}), loaded in {:.0f} ms\n", facts.name, facts.family, load_seconds * 1000);
  fmt::print(stderr, "device       {}, {}, {}\n", facts.device, precision_name(details.precision),
             facts.instruction_set);
  fmt::print(stderr, "audio        {:.3f} s at {} Hz, {} sentences, seed {}\n", audio_seconds, details.sample_rate_hz,
             details.sentence_count, details.seed);
  fmt::print(stderr, "first audio  {}\n", milliseconds(times.first_audio_us));
  if (audio_seconds > 0)
    fmt::print(stderr, "real-time    {:.4f} s per second of audio\n", total_seconds / audio_seconds);
  fmt::print(stderr, "stages       queue {}, text {}, encoder {}, durations {}, flow {}, decoder {}\n",
             milliseconds(times.queue_us), milliseconds(times.text_us), milliseconds(times.encoder_us),
             milliseconds(times.durations_us), milliseconds(times.flow_us), milliseconds(times.decoder_us));
}

void report(const Speech& speech) {
  const timbre_speech_details details = speech.info();
  if (details.skipped_symbols > 0) {
    fmt::print(stderr, "timbre: {} symbols that the model does not know were skipped\n", details.skipped_symbols);
  }
  if (details.split_pieces > 0) {
    fmt::print(stderr, "timbre: a sentence of more than 2,048 ids was split into pieces ({} in all)\n",
               details.split_pieces);
  }
}

[[noreturn]] void nothing_to_say(const std::string& why) { throw std::runtime_error("nothing to say: " + why); }

void pull(Speech& speech, const std::optional<std::string>& path, bool raw) {
  std::vector<float> chunk(4096);
  std::size_t count = speech.read(chunk);  // before the file is touched: an error leaves an older one alone
  if (count == 0) {
    switch (speech.info().empty_reason) {
      case TIMBRE_EMPTY_TEXT:
        nothing_to_say("no words are in the text");
      case TIMBRE_EMPTY_NOT:
        break;
      default:
        nothing_to_say("the model knows no symbol of the text");
    }
  }
  WavWriter writer(path, speech.info().sample_rate_hz, raw);
  for (; count > 0; count = speech.read(chunk)) writer.write(std::span(chunk).first(count));
  writer.finish();
}

}  // namespace

int say(const Options& options) {
  const bool to_stdout = !options.output || *options.output == "-";
  if (to_stdout && ::isatty(STDOUT_FILENO) != 0) {
    fmt::print(stderr, "timbre: audio is not written to a terminal; use -o FILE.wav or a pipe\n");
    return kUsage;
  }
  const std::vector<std::int32_t> ids = options.ids ? parse_ids(*options.ids) : std::vector<std::int32_t>();
  const std::string text = options.ids ? std::string() : source_text(options);
  std::optional<VoiceFile> voice;
  if (options.voice_file) voice.emplace(*options.voice_file);
  if (options.ids && ids.empty()) nothing_to_say("--ids has no number, expected numbers such as \"1 0 20 0 2\"");
  if (!options.ids && text.find_first_not_of(" \t\r\n") == std::string::npos)
    nothing_to_say("the text is empty, expected words as an argument or on standard input");

  const Engine engine = make_engine(options);
  const auto begin = Clock::now();
  const Model model = load_model(engine, options, options.stats);
  const double load_seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  Request request =
      options.ids ? Request(ids) : Request(text, options.phonemes ? TIMBRE_INPUT_PHONEMES : TIMBRE_INPUT_TEXT);
  if (voice) request.set_tensors(voice->tensors());
  apply(options, model, request);
  Speech speech = open(model, request, options);
  pull(speech, to_stdout ? std::nullopt : options.output, options.raw);
  report(speech);
  print_log(engine);
  if (options.stats) print_stats(model, speech, load_seconds);
  return kSuccess;
}

}  // namespace timbre::tools
