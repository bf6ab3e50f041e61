// SPDX-License-Identifier: MIT
#include "frontend/phonemized_source.hpp"

#include "frontend/character_source.hpp"
#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

constexpr std::u32string_view kMarks = U";:,.!?\u00A1\u00BF\u2014\u2026\"\u00AB\u00BB\u201C\u201D(){}[]";

bool is_mark(char32_t c) { return kMarks.find(c) != std::u32string_view::npos; }

// End of the run of marks and white space at `at`; `at` itself when it holds neither a mark nor a line's end.
std::size_t marks_end(std::string_view text, std::size_t at) {
  bool any = false;
  std::size_t end = at;
  while (end < text.size()) {
    const CodePoint c = first_code_point(text.substr(end));
    if (!is_mark(c.value) && !is_space(c.value)) break;
    any = any || is_mark(c.value) || c.value == U'\n';
    end += c.size;
  }
  return any || end == text.size() ? end : at;
}

std::string_view stripped(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

void PhonemizedSource::write(std::string_view symbols, SourceRange range, SequenceBuilder& builder) {
  while (!symbols.empty()) {
    const CodePoint c = first_code_point(symbols);
    const bool space = is_space(c.value);
    const std::string_view symbol = space ? std::string_view(" ") : symbols.substr(0, c.size);
    symbols.remove_prefix(c.size);
    if (space && after_space_) continue;
    after_space_ = space;
    const Ids* ids = config_.ids.find(symbol);
    if (ids == nullptr) {
      builder.skip(symbol);
      ids = config_.ids.find("<unk>");
    }
    if (ids != nullptr) builder.add(*ids, range, kind_of(symbol));
  }
}

void PhonemizedSource::write_marks(std::size_t end, SequenceBuilder& builder) {
  constexpr std::size_t kStepBytes = 1024;
  while (end - at_ > kStepBytes) {  // a run of this size is no punctuation; whole code points of its begin will do
    do --end;
    while ((static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U);
    if (end - at_ <= kStepBytes) break;
  }
  write(text_.substr(at_, end - at_), {at_, end}, builder);
  at_ = end;
}

void PhonemizedSource::begin_chunk() {
  chunk_end_ = at_;
  while (chunk_end_ < text_.size()) {
    const CodePoint c = first_code_point(text_.substr(chunk_end_));
    if (is_mark(c.value) || c.value == U'\n') break;
    chunk_end_ += c.size;
  }
  // White space before a mark belongs to the marks.
  while (chunk_end_ > at_ && is_space(static_cast<unsigned char>(text_[chunk_end_ - 1]))) --chunk_end_;
  chunk_ = with_token_case(config_, text_.substr(at_, chunk_end_ - at_));
  chunk_at_ = 0;
  chunk_begun_ = false;
}

Result<void> PhonemizedSource::write_clause(SequenceBuilder& builder) {
  auto any = phonemizer_->next_clause(kVoice, chunk_, chunk_at_, clause_);
  if (!any) return std::move(any).error();
  if (*any) {
    const std::string_view phonemes = stripped(clause_.phonemes);
    const SourceRange range{at_, chunk_end_};
    if (chunk_begun_ && !phonemes.empty()) write(" ", range, builder);
    chunk_begun_ = chunk_begun_ || !phonemes.empty();
    write(phonemes, range, builder);
  }
  if (!*any || chunk_at_ >= chunk_.size()) at_ = chunk_end_;
  return {};
}

Result<Step> PhonemizedSource::step(SequenceBuilder& builder) {
  if (at_ >= text_.size()) return Step::kTextEnd;
  if (at_ >= chunk_end_) {
    const std::size_t marks = marks_end(text_, at_);
    if (marks > at_) {
      write_marks(marks, builder);
      return Step::kMore;
    }
    begin_chunk();
  }
  if (auto done = write_clause(builder); !done) return std::move(done).error();
  return Step::kMore;
}

}  // namespace timbre::frontend
