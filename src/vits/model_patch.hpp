// SPDX-License-Identifier: MIT
//
// A patch: a .safetensors of original VITS names laid over a base model, as a small file that adds voices to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"
#include "vits/tensor_set.hpp"

namespace timbre::vits {

/// Lays a patch over a base: its tensors replace the base's layers, in whatever form of weight norm, or add speaker
/// layers, and "table.NAME" [voices, channels], the output of speaker layer NAME for each row of emb_g, becomes the
/// least-norm layer that gives it, computed in double.
///
/// @param where  what messages call the patch.
/// @return kMismatch when a tensor of the patch does not fit the base; kFormat when a table cannot be solved.
[[nodiscard]] Result<void> apply_patch(TensorSet& base, const TensorSet& patch, std::string_view where);

/// The names in a patch's metadata "voices" (a JSON list of strings); empty when there are none.
[[nodiscard]] Result<std::vector<std::string>> patch_voices(const voice::Safetensors& patch, std::string_view where);

}  // namespace timbre::vits
