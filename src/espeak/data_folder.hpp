// SPDX-License-Identifier: MIT
//
// Where espeak-ng's data lies. Checked before espeak-ng is asked to start, because some versions print and end the
// process when files are missing.
#pragma once

#include <string>

#include "espeak/espeak_library.hpp"
#include "timbre/core/result.hpp"

namespace timbre::espeak {

/// The folder that holds phontab and its siblings.
///
/// @param asked  the folder itself or the one above it; null asks the library, then the usual places of a system.
/// kNotFound names every folder that was looked at.
Result<std::string> find_data_folder(const EspeakLibrary& library, const char* asked);

/// True if both name one existing folder or file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace timbre::espeak
