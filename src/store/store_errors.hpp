// SPDX-License-Identifier: MIT
//
// What all stores say of a voice that is not there, or not in the expected version.
#pragma once

#include <optional>
#include <string_view>

#include "store/voice_store.hpp"

namespace timbre::store {

[[nodiscard]] Error not_found(std::string_view id);

/// kConflict, naming both versions, where `there` (sequence 0: no such voice) is not what a put expects.
[[nodiscard]] Result<void> check_expected(std::string_view id, const Version& there,
                                          const std::optional<Expected>& expected);

}  // namespace timbre::store
