// SPDX-License-Identifier: MIT
#include "frontend/phonemized_source.hpp"

#include "frontend/character_source.hpp"
#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

constexpr std::u32string_view kMarks = U";:,.!?\u00A1\u00BF\u2014\u2026\"\u00AB\u00BB\u201C\u201D(){}[]";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether the character `c` at `at` is punctuation to keep: not the point of 3.14 or the comma of 1,000.
bool is_mark(std::string_view text, std::size_t at, char32_t c) {
  if (kMarks.find(c) == std::u32string_view::npos) return false;
  const bool separates = c == U'.' || c == U',';
  return !(separates && at > 0 && at + 1 < text.size() && is_digit(text[at - 1]) && is_digit(text[at + 1]));
}

struct MarkRun {
  std::size_t end = 0;
  bool has_mark = false;
  bool has_line_end = false;
};

// A longer run of marks and white space is no punctuation; it is taken in pieces.
constexpr std::size_t kRunBytes = 1024;

// The run of marks and white space at `at`.
MarkRun marks_at(std::string_view text, std::size_t at) {
  MarkRun run{at, false, false};
  while (run.end < text.size() && run.end - at < kRunBytes) {
    const CodePoint c = first_code_point(text.substr(run.end));
    const bool mark = is_mark(text, run.end, c.value);
    if (!mark && !is_space(c.value)) break;
    run.has_mark = run.has_mark || mark;
    run.has_line_end = run.has_line_end || c.value == U'\n';
    run.end += c.size;
  }
  return run;
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

void PhonemizedSource::begin_chunk() {
  chunk_end_ = at_;
  while (chunk_end_ < text_.size()) {
    const CodePoint c = first_code_point(text_.substr(chunk_end_));
    if (is_mark(text_, chunk_end_, c.value) || c.value == U'\n') break;
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
    const MarkRun run = marks_at(text_, at_);
    const bool at_either_end = at_ == 0 || run.end == text_.size();
    if (run.has_mark || run.has_line_end || at_either_end || run.end - at_ >= kRunBytes) {
      // White space alone at either end of the text is dropped.
      if (run.has_mark || !at_either_end) write(text_.substr(at_, run.end - at_), {at_, run.end}, builder);
      const bool moved = run.end > at_;
      at_ = run.end;
      if (moved) return Step::kMore;
    }
    begin_chunk();
  }
  if (auto done = write_clause(builder); !done) return std::move(done).error();
  return Step::kMore;
}

}  // namespace timbre::frontend
