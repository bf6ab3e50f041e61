// SPDX-License-Identifier: MIT
//
// VitsWeights: the tensors of one model, folded and packed for the graph. Both loaders end here.
//
// Invariants
//   * Weight norm is folded; every weight is finite and has the shape that the configuration gives it.
//   * Immutable after build_weights(); shared by all runs. Held once: the files may go.
//   * Flows stand in the order in which inference runs them.
#pragma once

#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"
#include "vits/nn.hpp"
#include "vits/tensor_set.hpp"
#include "vits/vits_config.hpp"

namespace timbre::vits {

struct AttentionLayer {
  Conv query, key, value, out;
  at::Tensor relative_key;    ///< [2 window + 1, head]
  at::Tensor relative_value;  ///< [2 window + 1, head]
  Norm norm_1, norm_2;
  Conv ffn_1, ffn_2;
};

struct TextEncoderWeights {
  at::Tensor embedding;  ///< [tokens, hidden], scaled by sqrt(hidden)
  std::vector<AttentionLayer> layers;
  Conv project;
};

/// Dilated depth-separable convolutions.
struct DdsLayer {
  Conv separate, mix;
  Norm norm_1, norm_2;
};
struct Dds {
  std::vector<DdsLayer> layers;
};

struct DurationFlow {
  Conv pre;
  Dds dds;
  Conv project;
};

struct DurationWeights {
  Conv condition;  ///< undefined without conditioning
  // stochastic
  Conv pre, project;
  Dds dds;
  std::vector<DurationFlow> flows;
  at::Tensor affine_mean;   ///< [2, 1]
  at::Tensor affine_scale;  ///< [2, 1], exp(-logs)
  // deterministic
  Conv conv_1, conv_2, out;
  Norm norm_1, norm_2;
};

struct WaveNetLayer {
  Conv in, res_skip;
};
struct Coupling {
  Conv pre, post;
  Conv condition;  ///< all layers at once; undefined without conditioning
  std::vector<WaveNetLayer> layers;
};
struct FlowWeights {
  std::vector<Coupling> couplings;
};

struct ResBlock {
  std::vector<Conv> first;
  std::vector<Conv> second;  ///< empty for type 2
};
struct DecoderStage {
  ConvTranspose up;
  std::vector<ResBlock> blocks;
};
struct DecoderWeights {
  Conv pre, post;
  Conv condition;  ///< undefined without conditioning
  std::vector<DecoderStage> stages;
};

struct VitsWeights {
  TextEncoderWeights text;
  DurationWeights durations;
  FlowWeights flow;
  DecoderWeights decoder;
  at::Tensor speakers;  ///< [speakers, voice_dim], undefined without conditioning
};

/// @param where  what messages call the model.
/// @return kMismatch with the tensor's name, its shape and the wanted one; kFormat for tensors that are missing, are
/// not
///         real numbers or not finite.
[[nodiscard]] Result<VitsWeights> build_weights(const TensorSet& set, const VitsConfig& config, std::string_view where);

}  // namespace timbre::vits
