// SPDX-License-Identifier: MIT
//
// MappedFile: a file beside the model that the model itself names, mapped read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "timbre/core/result.hpp"

namespace timbre::vits {

struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Maps `name` in `directory`. A name is untrusted: it must be a single path component, no link out of the folder.
///
/// @return kFormat for a name that is a path; kNotFound; kIo.
[[nodiscard]] Result<MappedFile> map_beside(const std::string& directory, const std::string& name);

}  // namespace timbre::vits
