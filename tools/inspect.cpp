// SPDX-License-Identifier: MIT
//
// timbre tokenize and timbre info: what a text becomes, and what a model is.
#include <fmt/core.h>

#include "options.hpp"
#include "text_source.hpp"
#include "timbre/timbre.hpp"

namespace timbre::tools {

int tokenize(const Options& options) {
  const std::string text = source_text(options);
  const Engine engine = make_engine(options);
  const Model model = load_model(engine, options, false);
  const Tokens result = model.tokenize(text, options.phonemes ? TIMBRE_INPUT_PHONEMES : TIMBRE_INPUT_TEXT);
  const timbre_token* before = nullptr;
  for (const timbre_token& token : result.tokens) {
    if (options.details) {
      const auto begin = static_cast<std::size_t>(token.source_begin);
      const auto end = static_cast<std::size_t>(token.source_end);
      const std::string source = begin < end && end <= text.size() ? text.substr(begin, end - begin) : std::string();
      fmt::print("{}\t{}\t{}-{}\t{}\n", token.id, token.sentence, begin, end, source);
    } else {
      const bool same_line = before != nullptr && before->sentence == token.sentence;
      fmt::print("{}{}", before == nullptr ? "" : same_line ? " " : "\n", token.id);
    }
    before = &token;
  }
  if (!options.details && before != nullptr) fmt::print("\n");
  if (result.skipped_symbols > 0) {
    fmt::print(stderr, "timbre: {} symbols that the model does not know were skipped\n", result.skipped_symbols);
  }
  print_log(engine);
  return kSuccess;
}

int info(const Options& options) {
  const Engine engine = make_engine(options);
  const Model model = load_model(engine, options, false);
  const timbre_model_details facts = model.info();
  fmt::print("name             {}\n", facts.name);
  fmt::print("family           {}\n", facts.family);
  fmt::print("fingerprint      {}\n", facts.fingerprint);
  fmt::print("sample rate      {} Hz\n", facts.sample_rate_hz);
  fmt::print("samples a frame  {}\n", facts.hop_samples);
  fmt::print("tokens           {}\n", facts.token_count);
  fmt::print("text             {}{}{}\n", facts.front_end, *facts.language == '\0' ? "" : ", ", facts.language);
  fmt::print("scales           noise {:g}, length {:g}, noise w {:g}\n", facts.noise_scale, facts.length_scale,
             facts.noise_w);
  fmt::print("device           {}, {}, {}\n", facts.device, precision_name(facts.precision), facts.instruction_set);
  fmt::print("voice vector     {}\n", facts.voice_dim == 0 ? "none" : fmt::format("g [{}]", facts.voice_dim));
  fmt::print("speakers         {}\n", facts.speaker_count);
  for (std::uint32_t speaker = 0; speaker < facts.speaker_count; ++speaker) {
    fmt::print("  {:<14} {}\n", speaker, model.speaker_name(static_cast<std::int32_t>(speaker)));
  }
  print_log(engine);
  return kSuccess;
}

}  // namespace timbre::tools
