// SPDX-License-Identifier: MIT
//
// timbre through the C ABI, for scripts/compare-peers: loads a model, then speaks each line of standard input and
// answers with one line of figures. The protocol stands in scripts/peers/worker.py.
//
//   timbre-speak-worker MODEL THREADS

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "speech_cost.hpp"
#include "timbre/timbre.hpp"

namespace {

using timbre::bench::cpu_seconds;
using timbre::bench::seconds_since;
using Clock = std::chrono::steady_clock;

constexpr double kFirstAudioSeconds = 0.05;

double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

void answer(const timbre::Model& model, const std::string& text, double rate_hz) {
  std::array<float, 4096> chunk;
  std::size_t samples = 0;
  double first = 0;
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  timbre::Speech speech = model.speak(timbre::Request(text));
  while (const std::size_t count = speech.read(chunk)) {
    samples += count;
    if (first == 0 && static_cast<double>(samples) >= kFirstAudioSeconds * rate_hz) first = seconds_since(begin);
  }
  const double wall = seconds_since(begin);
  if (first == 0) first = wall;
  const double begin_s = std::chrono::duration<double>(begin.time_since_epoch()).count();  // the monotonic clock
  std::printf(R"({"first_s": %.9f, "wall_s": %.9f, "cpu_s": %.6f, "audio_s": %.9f, "rss_mb": %.1f, "first_at_s": %.9f})"
              "\n",
              first, wall, cpu_seconds() - cpu, static_cast<double>(samples) / rate_hz, peak_rss_mb(), begin_s + first);
  std::fflush(stdout);
}

int run(const std::string& path, int threads) {
  timbre::EngineConfig config;
  config.thread_count = static_cast<std::uint32_t>(threads);
  const timbre::Engine engine(config);
  const timbre::Model model = engine.load(path);
  const auto rate_hz = model.info().sample_rate_hz;
  std::printf(R"({"version": "%s", "sample_rate": %u})"
              "\n",
              timbre::version().c_str(), rate_hz);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) answer(model, line, rate_hz);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: timbre-speak-worker MODEL THREADS\n", stderr), 2;
  try {
    return run(argv[1], std::atoi(argv[2]));
  } catch (const timbre::Exception& error) {
    std::fprintf(stderr, "timbre-speak-worker: %s (%s)\n", error.what(), error.status_name());
    return 1;
  }
}
