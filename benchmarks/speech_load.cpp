// SPDX-License-Identifier: MIT
//
// What timbre costs its host under load, through the C ABI, one measure a run, its figures as one line of JSON:
//
//   timbre-speech-load MODEL THREADS callers   8 utterances at once, and the same 8 one after another, in turns
//   timbre-speech-load MODEL THREADS cpu       CPU seconds: an utterance read at once, read as it plays, and none
//   timbre-speech-load MODEL THREADS growth [UTTERANCES]   resident size over utterances of 200 distinct lengths
//   timbre-speech-load MODEL THREADS lengths   the first 100 utterances after a warm-up, all of different lengths
//
// scripts/compare-peers runs them. Everything is spoken with the default seed.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "speech_cost.hpp"
#include "timbre/timbre.hpp"

namespace {

using timbre::bench::cpu_seconds;
using timbre::bench::seconds_since;
using Clock = std::chrono::steady_clock;

constexpr const char* kSentence =
    "The quick brown fox jumps over the lazy dog, while seven wizards quietly examine the jagged boxes of blue vexing "
    "quartz near the river.";
constexpr std::size_t kCallers = 8;
constexpr std::size_t kLengths = 200;
constexpr std::size_t kShortestIds = 11;
constexpr int kNotCounted = 50;
constexpr auto kIdle = std::chrono::seconds(5);

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// Reads to the end. @return samples.
std::uint64_t drain(timbre::Speech& speech) {
  std::array<float, 4096> chunk;
  std::uint64_t samples = 0;
  while (const std::size_t count = speech.read(chunk)) samples += count;
  return samples;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Eight different sentences, as eight hosts have them.
std::vector<std::string> caller_texts() {
  std::vector<std::string> texts;
  for (const char* name : {"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"}) {
    texts.push_back(std::string("The ") + name + " traveller came down from the hills and asked us for the way home.");
  }
  return texts;
}

double serial_seconds(const timbre::Model& model, const std::vector<std::string>& texts) {
  const auto begin = Clock::now();
  for (const std::string& text : texts) {
    timbre::Speech speech = model.speak(timbre::Request(text));
    drain(speech);
  }
  return seconds_since(begin);
}

double together_seconds(const timbre::Model& model, const std::vector<std::string>& texts) {
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> readers;
    for (const std::string& text : texts) {
      readers.emplace_back([&model, &text] {
        try {
          timbre::Speech speech = model.speak(timbre::Request(text));
          drain(speech);
        } catch (const timbre::Exception& error) {  // a figure without one caller would be a lie
          std::fprintf(stderr, "timbre-speech-load: %s (%s)\n", error.what(), error.status_name());
          std::_Exit(1);
        }
      });
    }
  }
  return seconds_since(begin);
}

void callers(const timbre::Model& model) {
  const std::vector<std::string> texts = caller_texts();
  std::vector<double> serial;
  std::vector<double> together;
  for (int round = 0; round < 6; ++round) {
    const double one_by_one = serial_seconds(model, texts);
    const double at_once = together_seconds(model, texts);
    if (round == 0) continue;  // not counted: the first use of each length
    serial.push_back(one_by_one);
    together.push_back(at_once);
  }
  std::printf(R"({"callers": %zu, "serial_s": %.6f, "together_s": %.6f})"
              "\n",
              kCallers, median(serial), median(together));
}

struct Cost {
  double cpu = 0;
  double wall = 0;
};

/// Speaks `count` sentences; with `paced` their samples are read no faster than they play.
Cost speak(const timbre::Model& model, int count, bool paced) {
  const double rate_hz = model.info().sample_rate_hz;
  std::array<float, 1024> chunk;
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  double played = 0;
  for (int i = 0; i < count; ++i) {
    timbre::Speech speech = model.speak(timbre::Request(kSentence));
    while (const std::size_t got = speech.read(chunk)) {
      played += static_cast<double>(got) / rate_hz;
      if (paced) std::this_thread::sleep_until(begin + std::chrono::microseconds(static_cast<long>(1e6 * played)));
    }
  }
  return {cpu_seconds() - cpu, seconds_since(begin)};
}

void cpu(const timbre::Model& model) {
  speak(model, 1, false);
  const Cost at_once = speak(model, 5, false);
  const Cost as_it_plays = speak(model, 1, true);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double before = cpu_seconds();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(kIdle);
  const double idle = cpu_seconds() - before;
  std::printf(R"({"busy_cpu_s": %.6f, "busy_wall_s": %.6f, "paced_cpu_s": %.6f, "paced_wall_s": %.6f, )"
              R"("idle_cpu_s": %.6f, "idle_wall_s": %.6f})"
              "\n",
              at_once.cpu, at_once.wall, as_it_plays.cpu, as_it_plays.wall, idle, seconds_since(begin));
}

/// Ids of a sentence of `length` ids: those of a real one, over and over, between its first and its last.
std::vector<std::int32_t> ids_of_length(const std::vector<std::int32_t>& sentence, std::size_t length) {
  std::vector<std::int32_t> ids{sentence.front()};
  for (std::size_t i = 0; ids.size() + 1 < length; ++i) ids.push_back(sentence[1 + i % (sentence.size() - 2)]);
  ids.push_back(sentence.back());
  return ids;
}

void growth(const timbre::Model& model, int utterances) {
  const std::vector<std::int32_t> sentence = model.tokenize(kSentence).ids();
  if (sentence.size() < 3) throw std::runtime_error("the model makes no ids of the sentence");
  std::vector<std::size_t> lengths;
  for (int i = 0; i < utterances; ++i) lengths.push_back(kShortestIds + static_cast<std::size_t>(i) % kLengths);
  std::mt19937 random(1);
  std::shuffle(lengths.begin(), lengths.end(), random);
  double before = 0;
  double highest = 0;
  for (int i = 0; i < utterances; ++i) {
    const std::vector<std::int32_t> ids = ids_of_length(sentence, lengths[static_cast<std::size_t>(i)]);
    timbre::Speech speech = model.speak(timbre::Request(ids));
    drain(speech);
    if (i + 1 == kNotCounted) before = highest = resident_mb();
    if (i + 1 > kNotCounted) highest = std::max(highest, resident_mb());
  }
  std::printf(R"({"utterances": %d, "lengths": %zu, "after_first_mb": %.1f, "end_mb": %.1f, "highest_mb": %.1f})"
              "\n",
              utterances, std::min(kLengths, lengths.size()), before, resident_mb(), highest);
}

/// What the first utterance of each length costs beside later ones of it.
void lengths(const timbre::Model& model) {
  constexpr std::size_t kNew = 100;
  constexpr int kLater = 5;
  const std::vector<std::int32_t> sentence = model.tokenize(kSentence).ids();
  if (sentence.size() < 3) throw std::runtime_error("the model makes no ids of the sentence");
  const auto timed = [&](std::size_t i) {
    const std::vector<std::int32_t> ids = ids_of_length(sentence, kShortestIds + 3 * i);
    const auto begin = Clock::now();
    timbre::Speech speech = model.speak(timbre::Request(ids));
    drain(speech);
    return seconds_since(begin);
  };
  std::vector<double> first;
  for (std::size_t i = 0; i < kNew; ++i) first.push_back(timed(i));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < kNew; ++i) {
    std::vector<double> later;
    for (int round = 0; round < kLater; ++round) later.push_back(timed(i));
    ratios.push_back(first[i] / median(later));
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf(R"({"lengths": %zu, "p50": %.4f, "p99": %.4f, "most": %.4f})"
              "\n",
              kNew, median(ratios), ratios[kNew * 99 / 100 - 1], ratios.back());
}

int run(int argc, char** argv) {
  const std::string_view measure(argv[3]);
  const int utterances = argc == 5 ? std::atoi(argv[4]) : 1000;
  const bool known = measure == "callers" || measure == "cpu" || measure == "growth" || measure == "lengths";
  const int threads = std::atoi(argv[2]);
  if (!known || threads < 1 || (argc == 5 && (measure != "growth" || utterances <= kNotCounted))) {
    std::fputs(
        "timbre-speech-load: expected threads above 0, a measure (callers, cpu, growth, lengths), and for growth more "
        "than 50 utterances\n",
        stderr);
    return 2;
  }
  timbre::EngineConfig config;
  config.thread_count = static_cast<std::uint32_t>(threads);
  const timbre::Engine engine(config);
  const timbre::Model model = engine.load(argv[1]);
  if (measure == "callers") callers(model);
  if (measure == "cpu") cpu(model);
  if (measure == "growth") growth(model, utterances);
  if (measure == "lengths") lengths(model);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fputs("usage: timbre-speech-load MODEL THREADS callers|cpu|growth|lengths [UTTERANCES]\n", stderr);
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const timbre::Exception& error) {
    std::fprintf(stderr, "timbre-speech-load: %s (%s)\n", error.what(), error.status_name());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "timbre-speech-load: %s\n", error.what());
  }
  return 1;
}
