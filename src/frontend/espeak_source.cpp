// SPDX-License-Identifier: MIT
#include "frontend/espeak_source.hpp"

#include <algorithm>

#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

constexpr std::size_t kRawStepBytes = 1024;

bool blank(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (!is_space(c.value)) return false;
    text.remove_prefix(c.size);
  }
  return true;
}

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return text.substr(text.size());
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// espeak-ng marks words of another language, as in "(fr)bɔ̃ʒuʁ(en)".
std::string without_language_flags(std::string_view phonemes) {
  std::string out;
  while (!phonemes.empty()) {
    const auto open = phonemes.find('(');
    const auto close = open == std::string_view::npos ? open : phonemes.find(')', open);
    if (close == std::string_view::npos) break;
    if (close == open + 1) {  // "()" is no flag
      out += phonemes.substr(0, close);
      phonemes.remove_prefix(close);
      continue;
    }
    out += phonemes.substr(0, open);
    phonemes.remove_prefix(close + 1);
  }
  return out += phonemes;
}

// Writes the words of phonemes from `at` on, a bounded number of bytes and whole code points of them; words end at
// spaces and carry their own source range.
std::size_t write_words(const PhonemeWriter& writer, std::string_view text, std::size_t at, std::size_t end,
                        SequenceBuilder& builder) {
  const std::size_t stop = std::min(end, at + kRawStepBytes);
  while (at < stop) {
    const bool space = is_space(first_code_point(text.substr(at)).value);
    std::size_t word = at;
    while (word < end && word - at < kRawStepBytes) {
      const CodePoint c = first_code_point(text.substr(word));
      if (is_space(c.value) != space) break;
      word += c.size;
    }
    writer.write_raw(text.substr(at, word - at), {at, word}, builder);
    at = word;
  }
  return at;
}

}  // namespace

bool PartReader::find_raw(std::size_t from, TextPart& out) {
  for (std::size_t open = text_.find("[[", from); open != std::string_view::npos; open = text_.find("[[", open + 1)) {
    if (closing_ < open + 2) closing_ = text_.find("]]", open + 2);
    if (closing_ == std::string_view::npos) return false;
    const std::size_t line = text_.find('\n', open + 2);
    if (closing_ < line) {
      out = {open, closing_ + 2, true};
      return true;
    }
    open = line;  // nothing closes before the line ends
  }
  return false;
}

bool PartReader::next(TextPart& out) {
  if (at_ >= text_.size()) return false;
  TextPart raw;
  if (!find_raw(at_, raw)) raw = {text_.size(), text_.size(), true};
  out = raw.begin > at_ ? TextPart{at_, raw.begin, false} : raw;
  at_ = out.end;
  return true;
}

bool EspeakSource::needs_phonemizer(std::string_view text) {
  PartReader parts(text);
  for (TextPart part; parts.next(part);) {
    if (!part.raw && !blank(text.substr(part.begin, part.end - part.begin))) return true;
  }
  return false;
}

bool EspeakSource::advance() {
  if (!started_) {
    started_ = true;
    has_next_ = parts_.next(next_part_);
  }
  if (!has_next_) return false;
  part_ = next_part_;
  has_next_ = parts_.next(next_part_);
  at_ = part_.begin;
  return true;
}

void EspeakSource::write_clause(const PhonemizerClause& clause, SequenceBuilder& builder) const {
  std::string phonemes = without_language_flags(clause.phonemes);
  if (clause.terminator != 0) append_utf8(clause.terminator, phonemes);
  if (clause.terminator == U',' || clause.terminator == U':' || clause.terminator == U';') phonemes += ' ';
  writer_.write_decomposed(phonemes, {part_.begin + clause.source_begin, part_.begin + clause.source_end}, builder);
}

Result<Step> EspeakSource::step_text(SequenceBuilder& builder) {
  const std::string_view part = text_.substr(part_.begin, part_.end - part_.begin);
  std::uint64_t offset = at_ - part_.begin;
  if (offset == 0 && blank(part)) {
    at_ = part_.end;
    return Step::kMore;
  }
  auto any = phonemizer_->next_clause(config_.voice, part, offset, clause_);
  if (!any) return std::move(any).error();
  at_ = *any ? part_.begin + offset : part_.end;
  if (!*any) return Step::kMore;
  write_clause(clause_, builder);
  const bool joins_raw = at_ == part_.end && has_next_;
  return clause_.ends_sentence && !joins_raw ? Step::kSentenceEnd : Step::kMore;
}

void EspeakSource::step_raw(SequenceBuilder& builder) {
  const std::string_view inside = stripped(text_.substr(part_.begin + 2, part_.end - part_.begin - 4));
  const auto begin = static_cast<std::size_t>(inside.data() - text_.data());
  const std::size_t end = begin + inside.size();
  if (at_ == part_.begin) {
    if (at_ > 0 && text_[at_ - 1] == ' ') writer_.write_raw(" ", {at_, at_}, builder);
    at_ = begin;
  }
  at_ = write_words(writer_, text_, at_, end, builder);
  if (at_ < end) return;
  at_ = part_.end;
  if (at_ < text_.size() && text_[at_] == ' ') writer_.write_raw(" ", {at_, at_}, builder);
}

Result<Step> EspeakSource::step(SequenceBuilder& builder) {
  if (at_ >= part_.end && !advance()) return Step::kTextEnd;
  if (!part_.raw) return step_text(builder);
  step_raw(builder);
  return Step::kMore;
}

Result<Step> PhonemeStringSource::step(SequenceBuilder& builder) {
  if (at_ >= text_.size()) return Step::kTextEnd;
  at_ = write_words(writer_, text_, at_, text_.size(), builder);
  return Step::kMore;
}

}  // namespace timbre::frontend
