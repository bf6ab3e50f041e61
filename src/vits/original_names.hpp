// SPDX-License-Identifier: MIT
//
// What the shapes of tensors under their original names tell about a model.
#pragma once

#include <string_view>

#include "timbre/core/result.hpp"
#include "vits/tensor_set.hpp"
#include "vits/vits_config.hpp"

namespace timbre::vits {

/// The configuration of a model whose tensors have original names. Shapes do not tell strides and dilations; they are
/// those of the public configurations: half the kernel for an upsampling layer, (1, 3, 5) for residual blocks of type
/// 1, and (1, 2), (2, 6), (3, 12) for those of type 2 with kernels 3, 5 and 7.
///
/// @return kFormat naming the tensor that is missing; kUnsupported for other decoders.
[[nodiscard]] Result<VitsConfig> config_from_tensors(const TensorSet& set, std::string_view where);

/// Checks sizes that no tensor checks: that heads divide channels, kernels suit rates, nothing is zero or absurd.
[[nodiscard]] Result<void> check_config(const VitsConfig& config, std::string_view where);

}  // namespace timbre::vits
