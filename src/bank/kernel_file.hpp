// SPDX-License-Identifier: MIT
//
// Reading the small text files by which Linux tells about memory: /proc and the control groups. They have no size
// before they are read, and every reading is a new text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "timbre/core/result.hpp"

namespace timbre::bank {

/// The file's text. Errors name the path: kNotFound (no such file, or whom it tells about has gone), kIo, kFormat
/// (longer than 64 KiB), kUnsupported on other systems.
[[nodiscard]] Result<std::string> read_kernel_file(const std::string& path);

/// A decimal number; blanks around it are skipped and whatever follows them too (a unit). Numbers of more than 64 bits
/// are UINT64_MAX. @return false where there is none.
[[nodiscard]] bool read_number(std::string_view text, std::uint64_t& number);

/// The rest of the first line that begins with `key` and a separator (a colon or a blank); empty where there is none.
[[nodiscard]] std::string_view line_of(std::string_view text, std::string_view key);

/// For messages: the first line, of at most 32 bytes.
[[nodiscard]] std::string first_line(std::string_view text);

}  // namespace timbre::bank
