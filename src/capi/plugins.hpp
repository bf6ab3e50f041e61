// SPDX-License-Identifier: MIT
//
// The libraries that are opened when they are first needed: libtimbre-torch.so and libtimbre-espeak.so.
//
// Invariants
//   * A plug-in is opened by full path: in the folder of libtimbre.so, or in timbre/ below it. Never by search path.
//   * Two LibTorch copies are never in one process: a mapped one of another version is kIncompatible, naming both.
//   * Plug-ins are never unloaded.
#pragma once

#include <string>

#include "speech/synthesizer.hpp"
#include "timbre/core/result.hpp"

namespace timbre::capi {

/// Full path of a plug-in, e.g. "libtimbre-espeak.so"; kNotFound naming the places looked at.
Result<std::string> find_plugin(const std::string& file_name);

/// The LibTorch back end; opened at the first call. Any thread.
Result<speech::Backend*> torch_backend();

}  // namespace timbre::capi
