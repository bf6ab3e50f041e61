// SPDX-License-Identifier: MIT
#include "frontend/text_source.hpp"

#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

// A "word" longer than this is taken in several steps.
constexpr std::size_t kWordBytes = 1024;

constexpr std::u32string_view kSentenceMarks = U".?!\u2026\u3002\uFF0E\uFF1F\uFF01\u061F\u06D4\u0964\u0965\u203C\u203D";
constexpr std::u32string_view kClosers = U"\"')]}\u2019\u201D\u00BB\u203A\u300D\u300F\uFF09";

}  // namespace

bool ends_with_sentence_mark(std::string_view word) {
  bool ends = false;
  while (!word.empty()) {
    const CodePoint c = first_code_point(word);
    if (kSentenceMarks.find(c.value) != std::u32string_view::npos) {
      ends = true;
    } else if (kClosers.find(c.value) == std::u32string_view::npos) {
      ends = false;
    }
    word.remove_prefix(c.size);
  }
  return ends;
}

bool TextSource::known(std::string_view phonemes) const {
  while (!phonemes.empty()) {
    const CodePoint c = first_code_point(phonemes);
    if (config_.ids.find(phonemes.substr(0, c.size)) == nullptr) return false;
    phonemes.remove_prefix(c.size);
  }
  return true;
}

void TextSource::write_character(std::string_view character, SourceRange range, SequenceBuilder& builder) const {
  const std::string folded = fold(character);
  const bool keep = !known(folded) && known(decompose(character));
  writer_.write_decomposed(keep ? character : std::string_view(folded), range, builder);
}

Result<Step> TextSource::step(SequenceBuilder& builder) {
  if (at_ >= text_.size()) return Step::kTextEnd;
  const bool space = is_space(first_code_point(text_.substr(at_)).value);
  std::size_t end = at_;
  while (end < text_.size() && end - at_ < kWordBytes) {
    const CodePoint c = first_code_point(text_.substr(end));
    if (is_space(c.value) != space) break;
    end += c.size;
  }
  const std::string_view word = text_.substr(at_, end - at_);
  const SourceRange range{at_, end};
  if (space) {
    writer_.write_raw(word, range, builder);
  } else {
    // Marks are ordered over the whole word before it is taken apart.
    const std::string decomposed = decompose(word);
    for (std::string_view rest = decomposed; !rest.empty();) {
      const std::size_t size = first_code_point(rest).size;
      write_character(rest.substr(0, size), range, builder);
      rest.remove_prefix(size);
    }
  }
  at_ = end;
  if (space || !ends_with_sentence_mark(word)) return Step::kMore;
  if (at_ < text_.size() && !is_space(first_code_point(text_.substr(at_)).value)) return Step::kMore;
  while (at_ < text_.size()) {
    const CodePoint c = first_code_point(text_.substr(at_));
    if (!is_space(c.value)) break;
    at_ += c.size;
  }
  return Step::kSentenceEnd;
}

}  // namespace timbre::frontend
