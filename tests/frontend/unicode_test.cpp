// SPDX-License-Identifier: MIT
#include "frontend/unicode.hpp"

#include <catch2/catch.hpp>
#include <clocale>

using namespace timbre::frontend;

TEST_CASE("lower case and folding do not ask the host's locale", "[unicode]") {
  const char* before = std::setlocale(LC_ALL, nullptr);
  const std::string saved = before == nullptr ? "C" : before;
  std::setlocale(LC_ALL, "C");
  CHECK(lower("\u00c9\u0416I") == "\u00e9\u0436i");
  CHECK(lower("\u0130") == "i\u0307");
  CHECK(lower("\u1E9E") == "\u00df");
  CHECK(fold("\u00dF\u00c9") == "sse\u0301");
  CHECK(decompose("\u00e9\uac00") == "e\u0301\u1100\u1161");
  CHECK(decompose("a\u0301\u0323") == "a\u0323\u0301");
  std::setlocale(LC_ALL, saved.c_str());
}

TEST_CASE("white space is Unicode's", "[unicode]") {
  for (const char32_t c : {U' ', U'\t', U'\n', U'\u00A0', U'\u2003', U'\u2028', U'\u3000'}) CHECK(is_space(c));
  for (const char32_t c : {U'a', U'\u200B', U'_', U'\0'}) CHECK_FALSE(is_space(c));
}

TEST_CASE("UTF-8 is checked as the standard has it", "[unicode]") {
  CHECK(check_utf8("a\u00e9\u20ac\U0001F600"));
  CHECK(check_utf8(std::string_view("\0", 1)));
  for (const char* bad : {"\x80", "\xc1\x81", "\xe0\x80\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"}) {
    CHECK_FALSE(check_utf8(bad));
  }
}
