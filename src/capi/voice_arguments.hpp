// SPDX-License-Identifier: MIT
//
// Reading a caller's array of timbre_tensor, as records and requests carry it.
#pragma once

#include <vector>

#include "timbre/c/voice.h"
#include "timbre/core/result.hpp"
#include "voice/voice_record.hpp"

namespace timbre::capi {

/// Copies the tensors. Shape and values are checked by voice::check afterwards.
Result<std::vector<voice::Tensor>> read_tensors(const timbre_tensor* tensors, std::uint64_t count,
                                                std::uint64_t tensor_size);

}  // namespace timbre::capi
