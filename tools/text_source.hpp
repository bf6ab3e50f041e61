// SPDX-License-Identifier: MIT
//
// What all commands share: where the text comes from, and the engine and model that the options ask for.
#pragma once

#include <string>

#include "options.hpp"
#include "timbre/timbre.hpp"

namespace timbre::tools {

/// The text of the command line, or all of standard input without its last line end.
std::string source_text(const Options& options);

Engine make_engine(const Options& options);

/// The model with its patches.
Model load_model(const Engine& engine, const Options& options, bool warm_up);

/// Prints the warnings and errors that wait in the engine's log.
void print_log(const Engine& engine);

/// "fp32", "bf16".
const char* precision_name(std::int32_t precision);

}  // namespace timbre::tools
