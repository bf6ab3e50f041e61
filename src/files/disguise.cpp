// SPDX-License-Identifier: MIT
#include "files/disguise.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace timbre::files {
namespace {

/// A page is text. The first bytes of a binary file may be white space and '<' as well, in its size for example.
bool is_page(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kDisguiseBytes);
  const auto first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '<' && head.find('\0') == std::string_view::npos;
}

/// No control characters, and no bytes that UTF-8 never has.
bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes.substr(0, kDisguiseBytes), [](char character) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20) return byte == '\t' || byte == '\n' || byte == '\r';
    return byte != 0x7F && byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
  });
}

std::string_view other_kind(std::string_view bytes) {
  if (bytes.empty()) return "an empty file";
  if (bytes.starts_with("version https://git-lfs")) return "a Git LFS pointer (git lfs pull fetches the file)";
  if (bytes.starts_with("PK\x03\x04")) return "a zip archive";
  if (is_page(bytes)) return "an HTML or XML page";
  return {};
}

std::string told(std::string_view kind, std::string_view wanted) {
  return kind.empty() ? std::string() : fmt::format("this is {}, not {}", kind, wanted);
}

}  // namespace

std::string disguise(std::string_view bytes, std::string_view wanted) { return told(other_kind(bytes), wanted); }

std::string binary_disguise(std::string_view bytes, std::string_view wanted) {
  const std::string_view kind = other_kind(bytes);
  return told(kind.empty() && is_text(bytes) ? "a text file" : kind, wanted);
}

}  // namespace timbre::files
