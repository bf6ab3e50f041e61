// SPDX-License-Identifier: MIT
//
// The command line of `timbre`, parsed: one struct, and the commands that take it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace timbre::tools {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;

enum class Command { kSay, kTokenize, kInfo, kBench };

/// What was asked for. Empty optionals leave the choice to the library.
struct Options {
  Command command = Command::kSay;

  std::string model;
  std::vector<std::string> patches;
  std::optional<std::uint32_t> threads;
  std::optional<std::string> device;
  bool allow_device_fallback = false;
  std::string precision = "auto";
  std::optional<std::string> espeak_library;
  std::optional<std::string> espeak_data;

  std::optional<std::string> text;  ///< absent or "-": standard input
  bool phonemes = false;
  std::optional<std::string> ids;

  std::optional<std::string> voice_file;
  std::optional<std::string> speaker;  ///< index or name
  std::optional<float> noise_scale;
  std::optional<float> length_scale;
  std::optional<float> noise_w;
  std::optional<std::uint64_t> seed;
  bool random_seed = false;
  std::optional<std::uint32_t> rate_hz;
  std::optional<float> gain;
  std::optional<double> sentence_silence_s;

  std::optional<std::string> output;  ///< absent or "-": standard output
  bool raw = false;
  bool stats = false;
  bool details = false;

  std::optional<std::uint32_t> runs;  ///< of bench, which always has it
  bool json = false;
};

/// Parses the arguments. On --help, --version or a mistake it has printed what there is to say.
/// @return nothing to go on, else the exit code.
std::optional<int> parse(int argc, char** argv, Options& options);

int say(const Options& options);
int tokenize(const Options& options);
int info(const Options& options);
int bench(const Options& options);

}  // namespace timbre::tools
