// SPDX-License-Identifier: MIT
//
// How fast a voice speaks, as Google Benchmarks through the C++ wrapper: whole sentences with their stages as counters,
// first audio, several callers at once.
//
//   speech_bench --voice=NAME=MODEL.onnx... [--benchmark_... options]
//
// Names are stable, for scripts/bench-compare: WHAT/VOICE/TEXT/PRECISION/threads:N. `auto` is there only where it is
// not fp32 on this machine. Every run speaks with the default seed, so its samples and its work are the same each time.
// Engines stay for the whole process, so that repetitions can be interleaved; each is made by who needs it first.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "processor.hpp"
#include "timbre/timbre.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFirstAudioSeconds = 0.05;
constexpr std::string_view kFox =
    "The quick brown fox jumps over the lazy dog, while seven wizards quietly examine the jagged boxes of blue vexing "
    "quartz near the river";

struct Text {
  std::string name;
  std::string words;
};

std::vector<Text> texts() {
  const std::string fox(kFox);
  return {{"short", "Hello there, traveller."}, {"8s", fox + "."}, {"30s", fox + " " + fox + " " + fox + " " + fox}};
}

/// What an engine is made for.
struct Setting {
  std::string voice;
  std::string path;
  std::int32_t precision = TIMBRE_PRECISION_FP32;
  std::uint32_t threads = 1;

  [[nodiscard]] std::string title(const std::string& what, const std::string& text) const {
    return what + "/" + voice + "/" + text + "/" + (precision == TIMBRE_PRECISION_AUTO ? "auto" : "fp32") +
           "/threads:" + std::to_string(threads);
  }
  auto operator<=>(const Setting&) const = default;
};

/// An engine with one model, warmed up.
class Loaded {
 public:
  explicit Loaded(const Setting& setting) : engine_(config(setting)), model_(engine_.load(setting.path)) {}
  [[nodiscard]] const timbre::Model& model() const { return model_; }

 private:
  static timbre::EngineConfig config(const Setting& setting) {
    timbre::EngineConfig config;
    config.thread_count = setting.threads;
    config.precision = setting.precision;
    return config;
  }

  timbre::Engine engine_;
  timbre::Model model_;
};

/// The engines of this process; asked for by the benchmarks, which run one after another.
class Engines {
 public:
  const timbre::Model& model(const Setting& setting) {
    auto& loaded = loaded_[setting];
    if (!loaded) loaded = std::make_unique<Loaded>(setting);
    return loaded->model();
  }

 private:
  std::map<Setting, std::unique_ptr<Loaded>> loaded_;
};

/// Reads an utterance to its end. @return samples.
std::uint64_t drain(timbre::Speech& speech) {
  std::array<float, 4096> chunk;
  std::uint64_t samples = 0;
  while (const std::size_t count = speech.read(chunk)) samples += count;
  return samples;
}

double seconds(std::uint64_t us) { return us == TIMBRE_AUTO_U64 ? 0 : 1e-6 * static_cast<double>(us); }

/// Means over the iterations, in the report's unit for a counter: seconds.
void count_stages(benchmark::State& state, const timbre::Speech& speech) {
  const timbre_speech_times times = speech.timeline();
  state.counters["text_s"] += seconds(times.text_us);
  state.counters["encoder_s"] += seconds(times.encoder_us);
  state.counters["durations_s"] += seconds(times.durations_us);
  state.counters["flow_s"] += seconds(times.flow_us);
  state.counters["decoder_s"] += seconds(times.decoder_us);
  state.counters["chunks"] += times.chunk_count;
}

void whole(benchmark::State& state, Engines& engines, const Setting& setting, const std::string& words) {
  const timbre::Model& model = engines.model(setting);
  std::uint64_t samples = 0;
  for (auto _ : state) {
    timbre::Speech speech = model.speak(timbre::Request(words));
    samples += drain(speech);
    state.PauseTiming();
    count_stages(state, speech);
    state.ResumeTiming();
  }
  if (samples == 0) return state.SkipWithError("no audio");
  state.counters["audio_s"] = static_cast<double>(samples) / model.info().sample_rate_hz;
  for (auto& [name, counter] : state.counters) counter.flags = benchmark::Counter::kAvgIterations;
}

/// From opening an utterance until 50 ms of samples have been read; the rest is cancelled outside the measured time.
void first_audio(benchmark::State& state, Engines& engines, const Setting& setting, const std::string& words) {
  const timbre::Model& model = engines.model(setting);
  const double needed = kFirstAudioSeconds * model.info().sample_rate_hz;
  std::array<float, 4096> chunk;
  for (auto _ : state) {
    const auto begin = Clock::now();
    timbre::Speech speech = model.speak(timbre::Request(words));
    double samples = 0;
    while (samples < needed) {
      const std::size_t count = speech.read(chunk);
      if (count == 0) return state.SkipWithError("less than 50 ms of audio");
      samples += static_cast<double>(count);
    }
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}

/// `count` threads speak the same words at once; the time until the last has read its last sample.
void callers(benchmark::State& state, Engines& engines, const Setting& setting, const std::string& words, int count) {
  const timbre::Model& model = engines.model(setting);
  std::vector<std::uint64_t> samples(static_cast<std::size_t>(count));
  for (auto _ : state) {
    std::vector<timbre::Speech> speeches;  // opened together: none has a head start of a thread's start
    for (int i = 0; i < count; ++i) speeches.push_back(model.speak(timbre::Request(words)));
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < speeches.size(); ++i) {
      readers.emplace_back([&, i] {
        try {
          samples[i] = drain(speeches[i]);
        } catch (const timbre::Exception&) {
          samples[i] = 0;
        }
      });
    }
    readers.clear();  // joins
  }
  for (const std::uint64_t of_one : samples) {
    if (of_one == 0) return state.SkipWithError("a caller got no audio");
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void add(Engines& engines, const Setting& setting, bool high) {
  for (const Text& text : texts()) {
    // Half a minute of the large decoder says no more than 8 s of it.
    if (high && text.name == "30s") continue;
    benchmark::RegisterBenchmark(
        setting.title("whole", text.name).c_str(),
        [&engines, setting, text](benchmark::State& state) { whole(state, engines, setting, text.words); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(
        setting.title("first_audio", text.name).c_str(),
        [&engines, setting, text](benchmark::State& state) { first_audio(state, engines, setting, text.words); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  if (high) return;
  for (const int count : {1, 2, 8}) {
    benchmark::RegisterBenchmark(setting.title("callers:" + std::to_string(count), "short").c_str(),
                                 [&engines, setting, count](benchmark::State& state) {
                                   callers(state, engines, setting, texts()[0].words, count);
                                 })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

/// Takes the --voice options out of the command line. @return name and path of each; empty when one is wrong.
std::vector<Setting> take_voices(int& argc, char** argv) {
  constexpr std::string_view kOption = "--voice=";
  std::vector<Setting> voices;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (!argument.starts_with(kOption)) {
      argv[kept++] = argv[i];
      continue;
    }
    const std::string_view value = argument.substr(kOption.size());
    const std::size_t equals = value.find('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    voices.push_back({.voice = std::string(value.substr(0, equals)), .path = std::string(value.substr(equals + 1))});
  }
  argc = kept;
  return voices;
}

int run(int argc, char** argv) {
  const std::vector<Setting> voices = take_voices(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv) || voices.empty()) {
    std::fputs(
        "usage: speech_bench --voice=NAME=MODEL.onnx... [--benchmark_... options]; the voice \"high\" gets no long"
        " text\n",
        stderr);
    return 2;
  }
  Engines engines;
  for (Setting setting : voices) {
    const Setting chosen{setting.voice, setting.path, TIMBRE_PRECISION_AUTO, 2};
    const bool differs = engines.model(chosen).info().precision != TIMBRE_PRECISION_FP32;
    for (const std::uint32_t threads : {1U, 2U}) {
      setting.threads = threads;
      setting.precision = TIMBRE_PRECISION_FP32;
      add(engines, setting, setting.voice == "high");
      setting.precision = TIMBRE_PRECISION_AUTO;
      if (differs) add(engines, setting, setting.voice == "high");
    }
  }
  benchmark::AddCustomContext("instruction_set", timbre::bench::instruction_set());
  benchmark::AddCustomContext("timbre", timbre::version());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const timbre::Exception& error) {
    std::fprintf(stderr, "speech_bench: %s (%s)\n", error.what(), error.status_name());
    return 1;
  }
}
