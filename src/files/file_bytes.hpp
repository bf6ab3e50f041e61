// SPDX-License-Identifier: MIT
//
// Reading a file whole, or its beginning. Never mapped: a mapped file that another process cuts short ends the host
// with SIGBUS.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "timbre/core/result.hpp"

namespace timbre::files {

struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// The bytes of a regular file, links followed.
///
/// @return kNotFound (also for a broken link); kIo (not regular, not readable); kFormat (empty, above 8 GiB); each
/// names the path.
[[nodiscard]] Result<FileBytes> read_file_bytes(const std::string& path);

/// At most the first `limit_bytes` bytes of a regular file, links followed. Errors as above, but empty is no error.
[[nodiscard]] Result<std::string> read_file_head(const std::string& path, std::size_t limit_bytes);

}  // namespace timbre::files
