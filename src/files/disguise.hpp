// SPDX-License-Identifier: MIT
//
// What a file may be in place of what its name says: for people who fetched the wrong thing.
#pragma once

#include <string>
#include <string_view>

namespace timbre::files {

/// "this is an HTML or XML page, not WANTED", or the like for a Git LFS pointer, a zip archive and an empty file; empty
/// when the bytes look like none of these.
[[nodiscard]] std::string disguise(std::string_view bytes, std::string_view wanted);

}  // namespace timbre::files
