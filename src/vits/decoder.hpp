// SPDX-License-Identifier: MIT
//
// DecoderStream: latents to samples (HiFi-GAN), step by step, each convolution carrying the rows that it still needs.
//
// Invariants
//   * The samples are those of the whole sentence at once, whatever the steps are: no row is computed twice, none is
//     blended. At both ends of the sentence the input of every layer is zero, as in the whole.
//   * After latents [0, n) the samples of frames [0, n - reach) are out; after the last latent, all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vits/signal.hpp"
#include "vits/vits_config.hpp"
#include "vits/vits_weights.hpp"

namespace timbre::vits {

/// Frames after its own that a sample depends on, rounded up, from the configuration: 11 for Piper's medium voices, 13
/// for the larger decoders.
[[nodiscard]] std::int64_t decoder_reach_frames(const VitsConfig& config);

/// Thread safety: a value of one sentence; weights outlive it.
class DecoderStream {
 public:
  /// @param frames     of the sentence.
  /// @param condition  dec.cond applied to "g", [1, channels]; undefined without conditioning.
  DecoderStream(const DecoderWeights& weights, const VitsConfig& config, std::int64_t frames, at::Tensor condition);

  /// Takes the next `count` rows of `latents` [rows, latent]. @return the samples that are ready now, [samples].
  [[nodiscard]] at::Tensor step(const at::Tensor& latents, std::int64_t count);

 private:
  /// A convolution, what it reads, and how many rows it has given.
  struct Layer {
    const Conv* conv = nullptr;
    Signal input;
    std::int64_t done = 0;
  };
  /// One residual step: leaky, convolution (twice for type 1), plus its input. `input` is the raw signal.
  struct Unit {
    Layer first;             // its own `input` is unused in the first unit of a block, which reads the stage's
    Layer second;            // conv is null for type 2
    std::int64_t reach = 0;  // rows after its own that an output row needs

    /// The first row of the raw signal that later rows need.
    [[nodiscard]] std::int64_t still_reads() const {
      const std::int64_t given = second.conv != nullptr ? second.done : first.done;
      return std::min(given, first.done - first.conv->left());
    }
  };
  struct Block {
    std::vector<Unit> units;
    std::int64_t reach = 0;
  };
  struct Stage {
    Layer up;  // rows of `up` are blocks of `rate` rows of the stage
    std::int64_t rate = 0;
    std::int64_t padding = 0;
    Signal input;
    std::vector<Block> blocks;
    std::int64_t reach = 0;  // of the block that reaches furthest
    std::int64_t length = 0;
  };

  Stage make_stage(const DecoderStage& weights, std::int64_t rate, std::int64_t kernel, std::int64_t length) const;
  at::Tensor upsample(Stage& stage, const at::Tensor& active, std::int64_t count);
  at::Tensor run_stage(Stage& stage, const at::Tensor& fresh);
  at::Tensor run_block(Block& block, const Signal::Window& input, const at::Tensor& active, std::int64_t frontier,
                       std::int64_t length) const;
  at::Tensor run_unit(Unit& unit, const Signal::Window& raw, const at::Tensor& active, std::int64_t frontier,
                      std::int64_t length) const;

  at::Tensor run_post(const at::Tensor& active);

  const DecoderWeights& weights_;
  double slope_;
  at::Tensor condition_;
  Layer pre_;
  std::vector<Stage> stages_;
  Layer post_;
};

}  // namespace timbre::vits
