// SPDX-License-Identifier: MIT
#include "text_source.hpp"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace timbre::tools {

std::string source_text(const Options& options) {
  if (options.text && *options.text != "-") return *options.text;
  std::string text;
  std::array<char, 65536> piece;
  std::size_t count = 0;
  while ((count = std::fread(piece.data(), 1, piece.size(), stdin)) > 0) text.append(piece.data(), count);
  if (std::ferror(stdin) != 0) throw std::runtime_error(fmt::format("standard input: {}", std::strerror(errno)));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Engine make_engine(const Options& options) {
  EngineConfig config;
  if (options.threads) config.thread_count = *options.threads;
  if (options.device) config.device = options.device->c_str();
  config.allow_device_fallback = options.allow_device_fallback ? 1 : 0;
  if (options.precision == "fp32") config.precision = TIMBRE_PRECISION_FP32;
  if (options.precision == "bf16") config.precision = TIMBRE_PRECISION_BF16;
  if (options.espeak_library) config.espeak_library = options.espeak_library->c_str();
  if (options.espeak_data) config.espeak_data = options.espeak_data->c_str();
  return Engine(config);
}

Model load_model(const Engine& engine, const Options& options, bool warm_up) {
  std::vector<ModelFile> files{ModelFile(options.model)};
  for (const std::string& patch : options.patches) files.emplace_back(patch);
  LoadOptions load;
  load.warm_up = warm_up;
  return engine.load(files, load);
}

void print_log(const Engine& engine) {
  while (const auto line = engine.next_log()) {
    if (line->level >= TIMBRE_LOG_WARNING) fmt::print(stderr, "timbre: {}\n", line->text);
  }
}

const char* precision_name(std::int32_t precision) {
  switch (precision) {
    case TIMBRE_PRECISION_FP32:
      return "fp32";
    case TIMBRE_PRECISION_BF16:
      return "bf16";
    default:
      return "unknown";
  }
}

}  // namespace timbre::tools
