// SPDX-License-Identifier: MIT
//
// How our threads enter LibTorch, and how its exceptions become errors.
//
// Invariants
//   * Nothing of the host's changes: the OpenMP thread count is a setting of each thread, the global ones of ATen are
//     only read, so that they exist before ours is set.
//   * LibTorch's warnings go nowhere while a TorchScope lives; the host's own handler is back afterwards.
#pragma once

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <string>
#include <utility>

#include "timbre/core/result.hpp"

namespace timbre::vits {

/// Sets up the calling engine thread: its OpenMP thread count and its floating-point state.
void prepare_torch_thread(std::uint32_t thread_count);

/// Inference mode and silence, as long as it lives.
class TorchScope {
 public:
  TorchScope();

 private:
  c10::InferenceMode inference_{true};
  c10::WarningUtils::WarningHandlerGuard warnings_;
};

/// The error that the exception being handled stands for; only inside a catch block.
[[nodiscard]] Error current_torch_error(const std::string& doing);

/// Calls `work`, which returns a Result, in a TorchScope; whatever it throws becomes an Error.
template <typename Work>
[[nodiscard]] auto guarded(const std::string& doing, Work&& work) -> decltype(work()) {
  try {
    const TorchScope scope;
    return std::forward<Work>(work)();
  } catch (...) {
    return current_torch_error(doing);
  }
}

}  // namespace timbre::vits
