// SPDX-License-Identifier: MIT
#include "frontend/character_source.hpp"

#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

constexpr std::size_t kStepBytes = 1024;
// A sentence cannot hold more spaces than this, however many the text has.
constexpr std::size_t kMostSpaces = 2 * kMaxSentenceIds;

// Romanian texts write t with a comma below, the models' vocabularies a cedilla.
std::string_view without_comma_below(const CharacterConfig& config, std::string_view character) {
  return config.language == "ron" && character == "\u021B" ? "\u0163" : character;
}

}  // namespace

std::string with_token_case(const CharacterConfig& config, std::string_view text) {
  if (!config.normalize) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t token = config.tokens.longest_match(text);
    const std::size_t size = token > 0 ? token : first_code_point(text).size;
    out += token > 0 ? std::string(text.substr(0, size)) : lower(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

bool needs_uroman(const CharacterConfig& config, std::string_view text) {
  return config.is_uroman && !is_ascii(text) && !is_ascii(with_token_case(config, text));
}

bool CharacterSource::all_known(std::string_view characters) const {
  while (!characters.empty()) {
    const std::size_t size = first_code_point(characters).size;
    if (config_.ids.find(characters.substr(0, size)) == nullptr) return false;
    characters.remove_prefix(size);
  }
  return true;
}

SourceRange CharacterSource::word_at(std::size_t at) {
  if (at < word_.end) return word_;
  word_ = {at, at};
  const bool space = is_space(first_code_point(text_.substr(at)).value);
  while (word_.end < text_.size()) {
    const CodePoint c = first_code_point(text_.substr(word_.end));
    if (is_space(c.value) != space) break;
    word_.end += c.size;
  }
  return word_;
}

void CharacterSource::write_known(std::string_view symbol, const Ids& ids, SequenceBuilder& builder) {
  const bool strips = config_.normalize;
  if (strips && is_space(first_code_point(symbol).value)) {
    if (!begun_ || spaces_.size() >= kMostSpaces) return;
    if (spaces_.empty()) spaces_range_ = word_at(at_);
    spaces_ += symbol;
    return;
  }
  for (std::string_view rest = spaces_; !rest.empty();) {
    const std::size_t size = first_code_point(rest).size;
    builder.add(*config_.ids.find(rest.substr(0, size)), spaces_range_, SymbolKind::kSpace);
    rest.remove_prefix(size);
  }
  spaces_.clear();
  begun_ = true;
  builder.add(ids, word_at(at_), kind_of(symbol));
}

void CharacterSource::write_unknown(std::string_view symbol, SequenceBuilder& builder) {
  if (config_.normalize && is_space(first_code_point(symbol).value)) return;  // white space is no loss
  builder.skip(symbol);
  const Ids* unknown = config_.normalize ? nullptr : config_.ids.find("<unk>");
  if (unknown != nullptr) builder.add(*unknown, word_at(at_), SymbolKind::kPlain);
}

void CharacterSource::write_characters(std::string_view characters, SequenceBuilder& builder) {
  while (!characters.empty()) {
    const std::size_t size = first_code_point(characters).size;
    const std::string_view character = without_comma_below(config_, characters.substr(0, size));
    if (const Ids* ids = config_.ids.find(character)) {
      write_known(character, *ids, builder);
    } else {
      write_unknown(character, builder);
    }
    characters.remove_prefix(size);
  }
}

void CharacterSource::write_next(SequenceBuilder& builder) {
  const std::string_view rest = text_.substr(at_);
  const std::string_view first = rest.substr(0, first_code_point(rest).size);
  std::size_t size = config_.tokens.longest_match(rest);
  const bool several = size > first.size();
  if (!config_.normalize && several && all_known(first)) size = first.size();
  const std::string_view token = rest.substr(0, size);
  if (several && size > first.size() && !all_known(token)) {
    if (const Ids* ids = config_.ids.find(token)) {
      write_known(token, *ids, builder);
    } else {
      config_.normalize ? write_characters(token, builder) : write_unknown(token, builder);
    }
  } else if (size > 0) {
    write_characters(token, builder);
  } else {
    size = first.size();
    write_characters(config_.normalize ? lower(first) : std::string(first), builder);
  }
  at_ += size;
}

Result<Step> CharacterSource::step(SequenceBuilder& builder) {
  if (at_ >= text_.size()) return Step::kTextEnd;
  const std::size_t stop = at_ + kStepBytes;
  while (at_ < text_.size() && at_ < stop) write_next(builder);
  return Step::kMore;
}

}  // namespace timbre::frontend
