// SPDX-License-Identifier: MIT
#include "frontend/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace timbre::frontend {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

std::string map(std::string_view text, int options) {
  utf8proc_uint8_t* out = nullptr;
  const auto size = utf8proc_map(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &out,
                                 static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (size < 0) return std::string(text);
  return std::string(reinterpret_cast<const char*>(out), static_cast<std::size_t>(size));
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  if (text.empty()) return {};
  utf8proc_int32_t c = -1;
  const auto size = utf8proc_iterate(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &c);
  if (size <= 0) return {U'\uFFFD', 1};
  return {static_cast<char32_t>(c), static_cast<std::size_t>(size)};
}

Result<void> check_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t c = -1;
    const std::string_view rest = text.substr(at, 4);
    const auto size = utf8proc_iterate(bytes_of(rest), static_cast<utf8proc_ssize_t>(rest.size()), &c);
    if (size <= 0) {
      return Error{Status::kInvalidArgument, "the text is not UTF-8 at byte " + std::to_string(at)};
    }
    at += static_cast<std::size_t>(size);
  }
  return {};
}

void append_utf8(char32_t c, std::string& out) {
  utf8proc_uint8_t buffer[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(size));
}

std::string decompose(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  return map(text, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
}

std::string fold(std::string_view text) { return map(text, UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_STABLE); }

std::string lower(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (c.value == U'\u0130') {
      out += "i\u0307";
    } else {
      append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))), out);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

bool is_space(char32_t c) {
  if ((c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85) return true;
  const auto kind = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace timbre::frontend
