// SPDX-License-Identifier: MIT
#include "frontend/character_front_end.hpp"

#include "frontend/character_source.hpp"
#include "frontend/phonemized_source.hpp"
#include "frontend/source_front_end.hpp"

namespace timbre::frontend {
namespace {

class CharacterFrontEnd final : public SourceFrontEnd {
 public:
  CharacterFrontEnd(CharacterConfig config, CharacterConfig phoneme_config, std::string where,
                    PhonemizerProvider provider)
      : config_(std::move(config)),
        phoneme_config_(std::move(phoneme_config)),
        where_(std::move(where)),
        provider_(std::move(provider)) {}

  [[nodiscard]] std::string kind() const override { return "characters"; }
  [[nodiscard]] std::string language() const override { return config_.language; }

 private:
  [[nodiscard]] const SequenceRules& rules() const override { return config_.rules; }

  [[nodiscard]] Result<Source> make_source(std::string_view text, InputKind kind) const override {
    if (kind == InputKind::kPhonemes) return Source(std::make_unique<CharacterSource>(phoneme_config_, text));
    if (needs_uroman(config_, text)) {
      return Error{Status::kUnsupported,
                   where_ + ": this model (language \"" + config_.language +
                       "\") wants text romanised by uroman, which timbre does not have; romanise it first, or give "
                       "token ids"};
    }
    if (!config_.phonemize) return Source(std::make_unique<CharacterSource>(config_, text));
    auto phonemizer = open_phonemizer(provider_, PhonemizedSource::kVoice, where_ + ": phonemize");
    if (!phonemizer) return std::move(phonemizer).error();
    return Source(std::make_unique<PhonemizedSource>(config_, std::move(*phonemizer), text));
  }

  const CharacterConfig config_;
  const CharacterConfig phoneme_config_;  // phoneme strings are taken as they stand
  const std::string where_;
  const PhonemizerProvider provider_;
};

}  // namespace

Result<std::unique_ptr<FrontEnd>> make_character_front_end(const CharacterFiles& files, PhonemizerProvider provider) {
  auto config = parse_character_config(files);
  if (!config) return std::move(config).error();
  CharacterConfig phoneme_config = *config;
  phoneme_config.normalize = false;
  const auto& named = files.tokenizer_config.where.empty() ? files.vocab : files.tokenizer_config;
  return std::unique_ptr<FrontEnd>(std::make_unique<CharacterFrontEnd>(std::move(*config), std::move(phoneme_config),
                                                                       std::string(named.where), std::move(provider)));
}

}  // namespace timbre::frontend
