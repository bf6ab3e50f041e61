// SPDX-License-Identifier: MIT
//
// Loading a model: the calling thread collects the files, shows progress and may cancel; the worker builds.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "capi/engine_state.hpp"
#include "capi/model_parts.hpp"

namespace timbre::capi {

/// Shows progress on the thread that called load_model. False cancels.
using ProgressCallback = std::function<bool(float fraction, const char* stage)>;

/// Blocks until the model is ready, cancelled, or the engine is closed.
Result<std::shared_ptr<const speech::Model>> load_model(EngineState& engine, const std::vector<ModelPart>& parts,
                                                        bool warm_up, const ProgressCallback& progress);

}  // namespace timbre::capi
