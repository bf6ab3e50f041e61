// SPDX-License-Identifier: MIT
//
// VitsWeights: the tensors of one model, folded and packed for the graph. Both loaders end here.
//
// Invariants
//   * Weight norm is folded; every weight is finite and has the shape that the configuration gives it.
//   * Immutable after build_weights(); shared by all runs. Held once, packed: the files may go.
//   * Flows stand in the order in which inference runs them.
//   * What the graph would only move or scale is folded: queries, keys and values are one product; the flow's reversals
//     of channels lie in its weights; the mean of a stage's residual blocks lies in the layer behind it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"
#include "vits/conv.hpp"
#include "vits/tensor_set.hpp"
#include "vits/vits_config.hpp"

namespace timbre::vits {

struct AttentionLayer {
  Conv project;  ///< to queries, keys and values, one behind the other
  Conv out;
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
  Affine pre;
  Dds dds;
  Conv project;
};

struct DurationWeights {
  Affine condition;  ///< undefined without conditioning
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
/// Shifts one half of the channels by what it makes of the other.
struct Coupling {
  std::int64_t from = 0;  ///< first channel of the half that is read
  std::int64_t to = 0;    ///< first channel of the half that is shifted
  Conv pre, post;
  Affine condition;  ///< all layers at once; undefined without conditioning
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
  Conv up;  ///< the transposed convolution as one over blocks: [rate x channels, in, blocks that a row reaches]
  std::vector<ResBlock> blocks;
};
struct DecoderWeights {
  Conv pre;
  Conv post;  ///< a product with each tap: [taps, in, 1], taps rounded up to 8
  std::int64_t taps = 0;
  at::Tensor post_bias;  ///< [1], undefined in all published models
  Affine condition;      ///< undefined without conditioning
  std::vector<DecoderStage> stages;
};

struct VitsWeights {
  TextEncoderWeights text;
  DurationWeights durations;
  FlowWeights flow;
  DecoderWeights decoder;
  at::Tensor speakers;  ///< [speakers, voice_dim], undefined without conditioning
};

/// Calls `visit` with every convolution of the model.
void for_each_conv(const VitsWeights& weights, const std::function<void(const Conv&)>& visit);

/// @param where  what messages call the model.
/// @return kMismatch with the tensor's name, its shape and the wanted one; kFormat for tensors that are missing, are
/// not
///         real numbers or not finite.
[[nodiscard]] Result<VitsWeights> build_weights(const TensorSet& set, const VitsConfig& config, std::string_view where);

}  // namespace timbre::vits
