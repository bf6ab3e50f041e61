// SPDX-License-Identifier: MIT
//
// What the front ends need to know of Unicode, by utf8proc: never by the host's locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "timbre/core/result.hpp"

namespace timbre::frontend {

/// One code point of valid UTF-8 and its length in bytes; size 0 at the end of `text`.
struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;
};
[[nodiscard]] CodePoint first_code_point(std::string_view text);

/// kInvalidArgument with the offset of the first byte that is not UTF-8 (surrogates and overlong forms are not).
[[nodiscard]] Result<void> check_utf8(std::string_view text);

void append_utf8(char32_t c, std::string& out);

/// Canonical decomposition (NFD).
[[nodiscard]] std::string decompose(std::string_view text);
/// Full case folding, then NFD.
[[nodiscard]] std::string fold(std::string_view text);
/// Simple lower case, code point by code point; the two-letter lower case of a dotted capital I as in Unicode.
[[nodiscard]] std::string lower(std::string_view text);

/// White space as in Unicode (and Python's str.isspace).
[[nodiscard]] bool is_space(char32_t c);
[[nodiscard]] bool is_ascii(std::string_view text);

}  // namespace timbre::frontend
