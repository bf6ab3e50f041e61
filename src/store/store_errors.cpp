// SPDX-License-Identifier: MIT
#include "store/store_errors.hpp"

#include <fmt/format.h>

namespace timbre::store {

Error not_found(std::string_view id) { return {Status::kNotFound, fmt::format("there is no voice '{}'", id)}; }

Result<void> check_expected(std::string_view id, const Version& there, const std::optional<Expected>& expected) {
  if (!expected) return {};
  const bool same_bytes = !expected->checksum || *expected->checksum == there.checksum;
  if (expected->sequence == there.sequence && same_bytes) return {};
  if (there.sequence == 0) {
    return Error{Status::kConflict,
                 fmt::format("voice '{}': expected version {}, there is none", id, expected->sequence)};
  }
  return Error{Status::kConflict, fmt::format("voice '{}': expected version {}, found {}{}", id, expected->sequence,
                                              there.sequence, same_bytes ? "" : " with other bytes")};
}

}  // namespace timbre::store
