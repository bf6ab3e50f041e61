// SPDX-License-Identifier: MIT
//
// The one exported symbol of libtimbre-torch.so; its contract stands in speech/synthesizer.hpp.
#include <cstring>

#include "vits/backend.hpp"

extern "C" __attribute__((visibility("default"))) timbre::speech::Backend* timbre_torch_backend_v1(const char* build) {
  static timbre::vits::TorchBackend backend;
  return build != nullptr && std::strcmp(build, TIMBRE_BACKEND_BUILD) == 0 ? &backend : nullptr;
}
