// SPDX-License-Identifier: MIT
//
// TensorSet: the tensors of one model under their canonical names, which are those of the public VITS implementation
// ("enc_p.emb.weight", "dec.ups.0.weight"), as the files hold them: dtype, shape and bytes unchanged.
//
// Invariants
//   * Views refer to the model's files, which outlive the set, or to `owners`.
//   * The fingerprint depends on names, shapes, dtypes and bytes only, not on the container or the order in it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "voice/safetensors.hpp"

namespace timbre::vits {

struct TensorSet {
  std::map<std::string, voice::TensorView, std::less<>> tensors;
  std::vector<std::shared_ptr<const void>> owners;

  [[nodiscard]] const voice::TensorView* find(std::string_view name) const {
    const auto at = tensors.find(name);
    return at == tensors.end() ? nullptr : &at->second;
  }
  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// XXH3-128 over (name, dtype, rank, sizes, bytes) of every tensor in name order, as 32 hex digits.
  [[nodiscard]] std::string fingerprint() const;
};

/// The fingerprint of several sets one after the other: a base and its patches.
[[nodiscard]] std::string fingerprint(std::span<const TensorSet* const> sets);

}  // namespace timbre::vits
