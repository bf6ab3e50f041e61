// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "timbre/timbre.hpp"

namespace timbre::tools {
namespace {

/// CLI11 wraps negative numbers and cuts large ones; a seed of another number would be another voice.
/// A range lets what is no number pass.
std::string check_not_nan(const std::string& text) {
  return text.find("nan") == std::string::npos ? "" : "'" + text + "' is no number of seconds";
}

std::string check_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, seed);
  return error == std::errc{} && next == end ? "" : "a seed is a whole number of 0..18446744073709551615, not " + text;
}

std::string check_file_name(const std::string& text) { return text.empty() ? "an empty name is no file's" : ""; }

/// @param names  of the option for the model; with a bare word it may also stand alone.
void add_model(CLI::App& app, Options& o, const std::string& names = "-m,--model") {
  app.add_option(names, o.model, "Piper .onnx, Hugging Face VITS folder, or tone:")->required();
  app.add_option("--patch", o.patches, "safetensors that adds or replaces tensors of the model")->expected(1);
  app.add_option("--threads", o.threads, "compute threads (default: the cores, at most 4)");
  app.add_option("--device", o.device, "auto, cpu, cuda or cuda:N");
  app.add_flag("--allow-fallback", o.allow_device_fallback, "use the CPU where the device is missing");
  app.add_option("--precision", o.precision, "auto, fp32 or bf16")
      ->check(CLI::IsMember({"auto", "fp32", "bf16"}))
      ->capture_default_str();
  app.add_option("--espeak-library", o.espeak_library, "the phonemizer's library");
  app.add_option("--espeak-data", o.espeak_data, "folder that holds espeak-ng-data");
}

void add_text(CLI::App& app, Options& o) {
  app.add_option("text", o.text, "what to say; - or nothing reads standard input. No words there are an error");
  app.add_flag("--phonemes", o.phonemes, "the text is a phoneme string");
}

void add_say(CLI::App& app, Options& o) {
  app.add_option("--ids", o.ids, "token ids instead of a text, as in \"1 0 20 0 2\"")->excludes("text");
  auto* voice = app.add_option("--voice", o.voice_file, "safetensors with the voice's tensors (g)");
  app.add_option("--speaker", o.speaker, "index or name in the model's table")->excludes(voice);
  app.add_option("--noise-scale", o.noise_scale, "variation of the voice");
  app.add_option("--length-scale", o.length_scale, "above 1 speaks slower");
  app.add_option("--noise-w", o.noise_w, "variation of the durations");
  auto* seed = app.add_option("--seed", o.seed, "same seed, same audio (default 0)")->check(check_seed);
  app.add_flag("--random-seed", o.random_seed, "another reading each time")->excludes(seed);
  app.add_option("--rate", o.rate_hz, "output sample rate in Hz (default: the model's)");
  app.add_option("--gain", o.gain, "factor on the samples");
  app.add_option("--sentence-silence", o.sentence_silence_s, "seconds of silence between sentences")
      ->check(CLI::Range(0.0, 60.0))
      ->check(check_not_nan);
  app.add_option("-o,--output", o.output, "WAV file; - or nothing writes to standard output")->check(check_file_name);
  app.add_flag("--raw", o.raw, "16-bit little-endian samples without a header");
  app.add_flag("--stats", o.stats, "figures of the run on standard error");
}

void add_bench(CLI::App& app, Options& o) {
  o.runs = 30;
  app.add_option("--text", o.text, "what to say (default: a sentence of about 8 seconds)");
  app.add_option("--runs", o.runs, "utterances that are measured (default 30)")->check(CLI::Range(1, 100000));
  app.add_flag("--json", o.json, "the figures as JSON");
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app("timbre speaks: VITS voices from the command line", "timbre");
  app.set_version_flag("--version", "timbre " + version());
  app.require_subcommand(1);

  auto* say = app.add_subcommand("say", "Speak a text");
  add_text(*say, options);
  add_model(*say, options);
  add_say(*say, options);
  auto* tokenize = app.add_subcommand("tokenize", "Show the token ids that a text becomes, one sentence a line");
  add_text(*tokenize, options);
  add_model(*tokenize, options);
  tokenize->add_flag("--details", options.details, "one token a line: id, sentence, source bytes, source text");
  auto* info = app.add_subcommand("info", "Show what a model is");
  add_model(*info, options);
  auto* bench = app.add_subcommand("bench", "Measure first audio and real-time factor on this machine");
  add_model(*bench, options, "model,-m,--model");
  add_bench(*bench, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  if (*tokenize) options.command = Command::kTokenize;
  if (*info) options.command = Command::kInfo;
  if (*bench) options.command = Command::kBench;
  if (options.ids && options.phonemes) {
    fmt::print(stderr, "timbre: --ids and --phonemes exclude each other\n");
    return kUsage;
  }
  return std::nullopt;
}

}  // namespace timbre::tools
