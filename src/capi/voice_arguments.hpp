// SPDX-License-Identifier: MIT
//
// timbre_tensor: reading a caller's array, as records and requests carry it, and writing one of a leased voice.
#pragma once

#include <vector>

#include "bank/voice_lease.hpp"
#include "timbre/c/voice.h"
#include "timbre/core/result.hpp"
#include "voice/voice_record.hpp"

namespace timbre::capi {

/// Copies the tensors. Shape and values are checked by voice::check afterwards.
Result<std::vector<voice::Tensor>> read_tensors(const timbre_tensor* tensors, std::uint64_t count,
                                                std::uint64_t tensor_size);

/// A tensor of a leased voice. Errors: kInvalidArgument (no name), kNotFound, naming those that there are.
Result<const voice::PackedTensor*> find_tensor(const bank::VoiceLease& lease, const char* name);

/// The tensor at its place in the device's memory. Valid as long as the lease.
timbre_tensor tensor_of(const bank::VoiceLease& lease, const voice::PackedTensor& place);

}  // namespace timbre::capi
