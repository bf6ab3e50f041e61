// SPDX-License-Identifier: MIT
//
// The best instruction set of this processor, as figures of speed are quoted with.
#pragma once

namespace timbre::capi {

/// "amx", "avx512-bf16", "avx512", "avx2" or "default"; static.
[[nodiscard]] const char* instruction_set();

}  // namespace timbre::capi
