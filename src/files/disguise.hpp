// SPDX-License-Identifier: MIT
//
// What a file may be in place of what its name says: for people who fetched the wrong thing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace timbre::files {

/// So many bytes from the beginning of a file tell as much as all of them.
inline constexpr std::size_t kDisguiseBytes = 64;

/// "this is an HTML or XML page, not WANTED", or the like for a Git LFS pointer, a zip archive and an empty file; empty
/// when the bytes look like none of these.
[[nodiscard]] std::string disguise(std::string_view bytes, std::string_view wanted);

/// Likewise where WANTED is a binary kind of file: any other text is one in disguise, too.
[[nodiscard]] std::string binary_disguise(std::string_view bytes, std::string_view wanted);

}  // namespace timbre::files
