// SPDX-License-Identifier: MIT
#include "frontend/piper_front_end.hpp"

#include "frontend/espeak_source.hpp"
#include "frontend/piper_config.hpp"
#include "frontend/source_front_end.hpp"
#include "frontend/text_source.hpp"

namespace timbre::frontend {
namespace {

class PiperFrontEnd final : public SourceFrontEnd {
 public:
  PiperFrontEnd(PiperConfig config, std::string where, PhonemizerProvider provider)
      : config_(std::move(config)), where_(std::move(where)), provider_(std::move(provider)) {}

  [[nodiscard]] std::string kind() const override {
    const bool known = config_.phoneme_type == "espeak" || config_.phoneme_type == "text";
    return known ? config_.phoneme_type : "none";
  }
  [[nodiscard]] std::string language() const override { return config_.language; }

 private:
  [[nodiscard]] const SequenceRules& rules() const override { return config_.rules; }

  [[nodiscard]] Result<Source> make_source(std::string_view text, InputKind kind) const override {
    if (kind == InputKind::kPhonemes) return Source(std::make_unique<PhonemeStringSource>(config_, text));
    if (config_.phoneme_type == "text") return Source(std::make_unique<TextSource>(config_, text));
    if (config_.phoneme_type != "espeak") {
      return Error{Status::kUnsupported, where_ + ": text with phoneme_type \"" + config_.phoneme_type +
                                             "\" is not supported; give token ids or a phoneme string"};
    }
    std::shared_ptr<Phonemizer> phonemizer;
    if (EspeakSource::needs_phonemizer(text)) {
      auto opened = open_voice();
      if (!opened) return std::move(opened).error();
      phonemizer = std::move(*opened);
    }
    return Source(std::make_unique<EspeakSource>(config_, std::move(phonemizer), text));
  }

  [[nodiscard]] Result<std::shared_ptr<Phonemizer>> open_voice() const {
    if (config_.voice.empty()) {
      return Error{Status::kUnsupported,
                   where_ + ": neither espeak.voice nor language.code says how to read text; give a phoneme string"};
    }
    return open_phonemizer(provider_, config_.voice, where_ + ": espeak.voice");
  }

  const PiperConfig config_;
  const std::string where_;
  const PhonemizerProvider provider_;
};

}  // namespace

Result<std::unique_ptr<FrontEnd>> make_piper_front_end(std::string_view json, std::string_view where,
                                                       PhonemizerProvider provider) {
  auto config = parse_piper_config(json, where);
  if (!config) return std::move(config).error();
  return std::unique_ptr<FrontEnd>(
      std::make_unique<PiperFrontEnd>(std::move(*config), std::string(where), std::move(provider)));
}

}  // namespace timbre::frontend
