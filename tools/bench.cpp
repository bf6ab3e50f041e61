// SPDX-License-Identifier: MIT
//
// timbre bench: how fast a model speaks on this machine, one utterance after another.
//
// First audio is the time from opening an utterance until 50 ms of samples have been read; the real-time factor is the
// time until all samples have been read, by the audio's length. Percentiles are of the runs as they were, by nearest
// rank.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "options.hpp"
#include "text_source.hpp"
#include "timbre/timbre.hpp"

namespace timbre::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFirstAudioSeconds = 0.05;
constexpr const char* kText =
    "The quick brown fox jumps over the lazy dog, while seven wizards quietly examine the jagged boxes of blue vexing "
    "quartz near the river.";

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux gives KiB
}

/// One figure of all runs.
class Sample {
 public:
  void add(double value) { values_.insert(std::upper_bound(values_.begin(), values_.end(), value), value); }

  /// The smallest value that `percent` of the runs did not exceed.
  [[nodiscard]] double percentile(std::size_t percent) const {
    return values_[(values_.size() * percent + 99) / 100 - 1];
  }

  [[nodiscard]] nlohmann::ordered_json json() const {
    return {{"p50", percentile(50)}, {"p95", percentile(95)}, {"p99", percentile(99)}};
  }

 private:
  std::vector<double> values_;  // ascending
};

struct Figures {
  double load_seconds = 0;
  double audio_seconds = 0;  ///< of one run
  Sample first_audio_ms;
  Sample real_time_factor;
};

void run_once(const Model& model, const std::string& text, Figures& figures) {
  std::array<float, 4096> chunk;
  std::size_t samples = 0;
  double first = 0;
  const auto begin = Clock::now();
  Speech speech = model.speak(Request(text));
  const double needed = kFirstAudioSeconds * model.info().sample_rate_hz;
  while (const std::size_t count = speech.read(chunk)) {
    samples += count;
    if (first == 0 && static_cast<double>(samples) >= needed) first = seconds_since(begin);
  }
  const double wall = seconds_since(begin);
  if (samples == 0) throw std::runtime_error("nothing to measure: the text gives no audio");
  figures.audio_seconds = static_cast<double>(samples) / model.info().sample_rate_hz;
  figures.first_audio_ms.add(1000 * (first == 0 ? wall : first));
  figures.real_time_factor.add(wall / figures.audio_seconds);
}

void print_json(const Options& options, const timbre_model_details& facts, const Figures& figures) {
  nlohmann::ordered_json report;
  report["version"] = version();
  report["model"] = {{"path", options.model},
                     {"name", facts.name},
                     {"family", facts.family},
                     {"fingerprint", facts.fingerprint},
                     {"sample_rate_hz", facts.sample_rate_hz}};
  report["device"] = facts.device;
  report["precision"] = precision_name(facts.precision);
  report["instruction_set"] = facts.instruction_set;
  report["threads"] = options.threads ? nlohmann::ordered_json(*options.threads) : nlohmann::ordered_json("auto");
  report["runs"] = *options.runs;
  report["audio_s"] = figures.audio_seconds;
  report["load_s"] = figures.load_seconds;
  report["first_audio_ms"] = figures.first_audio_ms.json();
  report["real_time_factor"] = figures.real_time_factor.json();
  report["peak_rss_mb"] = peak_rss_mb();
  fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const Options& options, const timbre_model_details& facts, const Figures& figures) {
  const Sample& first = figures.first_audio_ms;
  const Sample& factor = figures.real_time_factor;
  fmt::print("model         {} ({}), loaded and warmed up in {:.0f} ms\n", *facts.name == '\0' ? "-" : facts.name,
             facts.family, figures.load_seconds * 1000);
  fmt::print("machine       {}, {}, {}, {} threads\n", facts.device, precision_name(facts.precision),
             facts.instruction_set, options.threads ? std::to_string(*options.threads) : "auto");
  fmt::print("runs          {} of {:.2f} s of audio each\n", *options.runs, figures.audio_seconds);
  fmt::print("              {:>9}  {:>9}  {:>9}\n", "p50", "p95", "p99");
  fmt::print("first audio   {:>6.1f} ms  {:>6.1f} ms  {:>6.1f} ms\n", first.percentile(50), first.percentile(95),
             first.percentile(99));
  fmt::print("real-time     {:>9.4f}  {:>9.4f}  {:>9.4f}\n", factor.percentile(50), factor.percentile(95),
             factor.percentile(99));
  fmt::print("peak RSS      {:.0f} MB\n\n", peak_rss_mb());
  fmt::print(
      "First audio: from the request until 50 ms can be played; 99 of 100 requests were served within p99. Real-time:\n"
      "seconds of work for a second of audio; below 1 it speaks faster than it plays, and 1 / p50 ({:.0f}) is about "
      "how\n"
      "many voices this machine carries at once. Compare figures of one idle machine only.\n",
      1 / factor.percentile(50));
}

}  // namespace

int bench(const Options& options) {
  const std::string text = options.text ? *options.text : kText;
  Figures figures;
  const auto begin = Clock::now();
  const Engine engine = make_engine(options);
  const Model model = load_model(engine, options, true);
  figures.load_seconds = seconds_since(begin);
  Figures discarded;
  run_once(model, text, discarded);  // what only a first utterance pays belongs to neither figure
  for (std::uint32_t run = 0; run < *options.runs; ++run) run_once(model, text, figures);
  print_log(engine);
  (options.json ? print_json : print_text)(options, model.info(), figures);
  return kSuccess;
}

}  // namespace timbre::tools
