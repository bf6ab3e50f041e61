// SPDX-License-Identifier: MIT
#include "espeak/clause_end.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>

namespace timbre::espeak {
namespace {

enum class Mark : std::uint8_t { kPeriod, kComma, kQuestion, kExclamation, kColon, kSemicolon, kPause, kStop, kFull };

struct MarkRange {
  char32_t first, last;
  Mark mark;
};

// kPause ends a clause, kStop and kFull a sentence, without punctuation in the phonemes; kPause and kFull end it even
// when no space follows. Sorted.
constexpr std::array kMarks = {
    MarkRange{0x21, 0x21, Mark::kExclamation},
    MarkRange{0x2c, 0x2c, Mark::kComma},
    MarkRange{0x2e, 0x2e, Mark::kPeriod},
    MarkRange{0x3a, 0x3a, Mark::kColon},
    MarkRange{0x3b, 0x3b, Mark::kSemicolon},
    MarkRange{0x3f, 0x3f, Mark::kQuestion},
    MarkRange{0xa1, 0xa1, Mark::kPause},
    MarkRange{0xbf, 0xbf, Mark::kPause},
    MarkRange{0x37e, 0x37e, Mark::kQuestion},
    MarkRange{0x387, 0x387, Mark::kSemicolon},
    MarkRange{0x55d, 0x55d, Mark::kComma},
    MarkRange{0x589, 0x589, Mark::kFull},
    MarkRange{0x60c, 0x60c, Mark::kComma},
    MarkRange{0x61b, 0x61b, Mark::kSemicolon},
    MarkRange{0x61f, 0x61f, Mark::kQuestion},
    MarkRange{0x6d4, 0x6d4, Mark::kPeriod},
    MarkRange{0x700, 0x700, Mark::kStop},
    MarkRange{0x701, 0x701, Mark::kPeriod},
    MarkRange{0x702, 0x702, Mark::kComma},
    MarkRange{0x703, 0x703, Mark::kExclamation},
    MarkRange{0x704, 0x704, Mark::kPeriod},
    MarkRange{0x706, 0x707, Mark::kColon},
    MarkRange{0x708, 0x708, Mark::kSemicolon},
    MarkRange{0x709, 0x709, Mark::kQuestion},
    MarkRange{0x7f8, 0x7f8, Mark::kComma},
    MarkRange{0x7f9, 0x7f9, Mark::kExclamation},
    MarkRange{0x964, 0x964, Mark::kFull},
    MarkRange{0x965, 0x965, Mark::kStop},
    MarkRange{0xdf4, 0xdf4, Mark::kFull},
    MarkRange{0xeaf, 0xeaf, Mark::kPause},
    MarkRange{0xf0d, 0xf0d, Mark::kFull},
    MarkRange{0xf0e, 0xf0e, Mark::kStop},
    MarkRange{0xf14, 0xf14, Mark::kComma},
    MarkRange{0x10fb, 0x10fb, Mark::kStop},
    MarkRange{0x1362, 0x1362, Mark::kPeriod},
    MarkRange{0x1363, 0x1363, Mark::kComma},
    MarkRange{0x1364, 0x1364, Mark::kSemicolon},
    MarkRange{0x1365, 0x1366, Mark::kColon},
    MarkRange{0x1367, 0x1367, Mark::kQuestion},
    MarkRange{0x1368, 0x1368, Mark::kStop},
    MarkRange{0x166e, 0x166e, Mark::kPeriod},
    MarkRange{0x1801, 0x1801, Mark::kPause},
    MarkRange{0x1802, 0x1802, Mark::kComma},
    MarkRange{0x1803, 0x1803, Mark::kPeriod},
    MarkRange{0x1804, 0x1804, Mark::kColon},
    MarkRange{0x1808, 0x1808, Mark::kComma},
    MarkRange{0x1809, 0x1809, Mark::kPeriod},
    MarkRange{0x1944, 0x1944, Mark::kExclamation},
    MarkRange{0x1945, 0x1945, Mark::kQuestion},
    MarkRange{0x2013, 0x2014, Mark::kSemicolon},
    MarkRange{0x2026, 0x2026, Mark::kPause},
    MarkRange{0x2029, 0x2029, Mark::kStop},
    MarkRange{0x203c, 0x203c, Mark::kExclamation},
    MarkRange{0x2047, 0x2047, Mark::kQuestion},
    MarkRange{0x204f, 0x204f, Mark::kSemicolon},
    MarkRange{0x22ee, 0x22f1, Mark::kPause},
    MarkRange{0x2488, 0x249b, Mark::kPeriod},
    MarkRange{0x2753, 0x2754, Mark::kQuestion},
    MarkRange{0x2755, 0x2755, Mark::kExclamation},
    MarkRange{0x2757, 0x2757, Mark::kExclamation},
    MarkRange{0x2762, 0x2763, Mark::kExclamation},
    MarkRange{0x2982, 0x2982, Mark::kColon},
    MarkRange{0x2cf9, 0x2cf9, Mark::kPeriod},
    MarkRange{0x2cfa, 0x2cfb, Mark::kQuestion},
    MarkRange{0x2cfe, 0x2cfe, Mark::kPeriod},
    MarkRange{0x2e32, 0x2e32, Mark::kComma},
    MarkRange{0x2e33, 0x2e33, Mark::kPeriod},
    MarkRange{0x2e34, 0x2e34, Mark::kComma},
    MarkRange{0x2e35, 0x2e35, Mark::kSemicolon},
    MarkRange{0x2e3a, 0x2e3b, Mark::kSemicolon},
    MarkRange{0x2e3c, 0x2e3c, Mark::kPeriod},
    MarkRange{0x2e41, 0x2e41, Mark::kComma},
    MarkRange{0x3001, 0x3001, Mark::kPause},
    MarkRange{0x3002, 0x3002, Mark::kFull},
    MarkRange{0xa4fe, 0xa4fe, Mark::kComma},
    MarkRange{0xa4ff, 0xa4ff, Mark::kPeriod},
    MarkRange{0xa60d, 0xa60d, Mark::kComma},
    MarkRange{0xa60e, 0xa60e, Mark::kPeriod},
    MarkRange{0xa60f, 0xa60f, Mark::kQuestion},
    MarkRange{0xa6f3, 0xa6f3, Mark::kPeriod},
    MarkRange{0xa6f4, 0xa6f4, Mark::kColon},
    MarkRange{0xa6f5, 0xa6f5, Mark::kComma},
    MarkRange{0xa6f6, 0xa6f6, Mark::kSemicolon},
    MarkRange{0xa6f7, 0xa6f7, Mark::kQuestion},
    MarkRange{0xfe10, 0xfe11, Mark::kComma},
    MarkRange{0xfe12, 0xfe12, Mark::kPeriod},
    MarkRange{0xfe13, 0xfe13, Mark::kColon},
    MarkRange{0xfe14, 0xfe14, Mark::kSemicolon},
    MarkRange{0xfe15, 0xfe15, Mark::kExclamation},
    MarkRange{0xfe16, 0xfe16, Mark::kQuestion},
    MarkRange{0xfe19, 0xfe19, Mark::kPause},
    MarkRange{0xfe31, 0xfe32, Mark::kSemicolon},
    MarkRange{0xfe50, 0xfe51, Mark::kComma},
    MarkRange{0xfe52, 0xfe52, Mark::kPeriod},
    MarkRange{0xfe54, 0xfe54, Mark::kSemicolon},
    MarkRange{0xfe55, 0xfe55, Mark::kColon},
    MarkRange{0xfe56, 0xfe56, Mark::kQuestion},
    MarkRange{0xfe57, 0xfe57, Mark::kExclamation},
    MarkRange{0xff01, 0xff01, Mark::kFull},
    MarkRange{0xff0c, 0xff0c, Mark::kPause},
    MarkRange{0xff0e, 0xff0e, Mark::kFull},
    MarkRange{0xff1a, 0xff1b, Mark::kPause},
    MarkRange{0xff1f, 0xff1f, Mark::kFull},
    MarkRange{0xff61, 0xff61, Mark::kPeriod},
    MarkRange{0xff64, 0xff64, Mark::kComma},
    MarkRange{0x11143, 0x11143, Mark::kQuestion},
    MarkRange{0x1144d, 0x1144d, Mark::kComma},
    MarkRange{0x12471, 0x12472, Mark::kColon},
    MarkRange{0x16af5, 0x16af5, Mark::kPeriod},
    MarkRange{0x1bc9f, 0x1bc9f, Mark::kPeriod},
    MarkRange{0x1da87, 0x1da87, Mark::kComma},
    MarkRange{0x1da88, 0x1da88, Mark::kPeriod},
    MarkRange{0x1da89, 0x1da89, Mark::kSemicolon},
    MarkRange{0x1da8a, 0x1da8a, Mark::kColon},
    MarkRange{0x1e95e, 0x1e95e, Mark::kExclamation},
    MarkRange{0x1e95f, 0x1e95f, Mark::kQuestion},
    MarkRange{0x1f100, 0x1f100, Mark::kPeriod},
    MarkRange{0x1f101, 0x1f10a, Mark::kComma},
};
static_assert(std::is_sorted(kMarks.begin(), kMarks.end(), [](auto a, auto b) { return a.last < b.first; }));

std::optional<Mark> mark_of(char32_t c) {
  const auto* found =
      std::lower_bound(kMarks.begin(), kMarks.end(), c, [](auto range, auto x) { return range.last < x; });
  if (found == kMarks.end() || c < found->first) return std::nullopt;
  return found->mark;
}

struct Decoded {
  char32_t value = 0;
  std::size_t size = 0;
};

Decoded first_of(std::string_view text) {
  if (text.empty()) return {};
  utf8proc_int32_t c = -1;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &c);
  if (size <= 0) return {0xfffd, 1};
  return {static_cast<char32_t>(c), static_cast<std::size_t>(size)};
}

Decoded last_of(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && (static_cast<unsigned char>(text[--at]) & 0xC0U) == 0x80U) {
  }
  return first_of(text.substr(at));
}

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// As espeak-ng sees it: a no-break space is none.
bool is_space(char32_t c) {
  if (c <= 0x20) return true;  // other control characters reach espeak-ng as spaces
  if (c == 0xa0 || c == 0x2007 || c == 0x202f) return false;
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_CC;
}

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_digit(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

// Letters, digits and the marks on them.
bool is_word_part(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NO;
}

bool has_word(std::string_view text) {
  while (!text.empty()) {
    const Decoded c = first_of(text);
    if (is_letter(c.value) || is_digit(c.value)) return true;
    text.remove_prefix(c.size);
  }
  return false;
}

char32_t terminator_of(Mark mark) {
  switch (mark) {
    case Mark::kPeriod:
      return U'.';
    case Mark::kComma:
      return U',';
    case Mark::kQuestion:
      return U'?';
    case Mark::kExclamation:
      return U'!';
    case Mark::kColon:
      return U':';
    case Mark::kSemicolon:
      return U';';
    default:
      return 0;
  }
}

bool ends_sentence(Mark mark) {
  return mark == Mark::kPeriod || mark == Mark::kQuestion || mark == Mark::kExclamation || mark == Mark::kStop ||
         mark == Mark::kFull;
}

// Whether punctuation right before `next` ends a clause: not inside of 3.14 or example.com.
bool may_follow(Mark mark, std::string_view spaces, std::string_view next) {
  if (!spaces.empty() || next.empty() || mark == Mark::kPause || mark == Mark::kFull) return true;
  const char32_t c = first_of(next).value;
  return !is_letter(c) && !is_digit(c);
}

// The character that decides: the first of a run of marks, an ellipsis where that run begins with three dots.
Decoded deciding_mark(std::string_view body) {
  std::size_t begin = body.size();
  Decoded first;
  while (begin > 0) {
    const Decoded before = last_of(body.substr(0, begin));
    if (!mark_of(before.value)) break;
    begin -= before.size;
    first = before;
  }
  if (body.substr(begin).starts_with("...")) return {U'\u2026', 3};
  return first;
}

// What the phonemes of a word may cost, in entries of espeak-ng's list.
std::size_t cost_of(Decoded c) {
  if (is_digit(c.value)) return 9;
  if (c.size >= 3) return c.size == 3 ? 5 : 20;
  if (is_letter(c.value)) return category(c.value) == UTF8PROC_CATEGORY_LU ? 3 : 1;
  return c.value < 0x80 &&
                 std::string_view("@#$%&*+/<=>\\^_|~").find(static_cast<char>(c.value)) != std::string_view::npos
             ? 8
             : 1;
}

}  // namespace

ClauseEnd classify_clause_end(std::string_view clause, std::string_view next) {
  std::string_view body = clause;
  std::size_t lines = 0;
  while (!body.empty()) {
    const Decoded c = last_of(body);
    if (!is_space(c.value)) break;
    if (c.value == U'\n') ++lines;
    body.remove_suffix(c.size);
  }
  const std::string_view spaces = clause.substr(body.size());
  ClauseEnd end;
  end.size = body.size();
  if (lines >= 2) {  // a blank line ends a sentence, whatever stands before it
    end.ends_sentence = true;
    return end;
  }
  const Decoded last = deciding_mark(body);
  const auto mark = mark_of(last.value);
  if (mark && may_follow(*mark, spaces, next) && (lines > 0 || has_word(body))) {
    end.terminator = terminator_of(*mark);
    end.ends_sentence = ends_sentence(*mark);
    return end;
  }
  end.ends_sentence = next.empty();
  end.word_break = !next.empty() && !spaces.empty();
  return end;
}

std::size_t safe_clause_size(std::string_view text) {
  constexpr std::size_t kPhonemes = 900;
  constexpr std::size_t kWords = 280;
  constexpr std::size_t kBytes = 4096;
  std::size_t cost = 0;
  std::size_t words = 0;
  std::size_t word_size = 0;
  std::size_t cut = 0;  // behind the last word that has no punctuation behind it, else behind the last space
  bool cut_at_word = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const Decoded c = first_of(text.substr(at));
    if (is_space(c.value)) {
      if (word_size > 0) ++words;
      if (word_size == 1) cost += 6;  // a letter by its name
      if (word_size > 0 || !cut_at_word) cut = at + c.size;
      cut_at_word = cut_at_word || word_size > 0;
      word_size = 0;
    } else {
      cost += cost_of(c);
      word_size = is_word_part(c.value) ? word_size + 1 : 0;
    }
    if (cost > kPhonemes || words > kWords || at >= kBytes) return cut > 0 ? cut : at + c.size;
    at += c.size;
  }
  return text.size();
}

}  // namespace timbre::espeak
