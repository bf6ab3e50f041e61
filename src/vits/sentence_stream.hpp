// SPDX-License-Identifier: MIT
//
// SentenceStream: from the frames of the prior to samples, chunk by chunk: flow and decoder in step.
//
// The schedule is a function of the frame count only, and grows: small chunks first, so that audio comes soon, then
// large ones, which cost less for each frame. It covers any sentence with a closed set of shapes (conv.hpp) and in
// memory that does not grow with it. The flow, which reaches further, runs ahead of the decoder in chunks of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "vits/decoder.hpp"
#include "vits/flow.hpp"

namespace timbre::vits {

/// Frames that the decoder takes in for its first chunks, and for each later one. The first chunk gives the samples of
/// its frames less the decoder's reach: at least 50 ms of all published models.
inline constexpr std::array<std::int64_t, 3> kFirstFrames{16, 16, 32};
inline constexpr std::int64_t kChunkFrames = 64;
/// Frames that the flow takes in for its second chunk, and for each later one; the first is what the decoder waits for.
inline constexpr std::int64_t kSecondFlowFrames = 64;
inline constexpr std::int64_t kFlowFrames = 128;

/// Thread safety: a value of one sentence; weights outlive it.
class SentenceStream {
 public:
  /// Rows [first, first + count) of the prior's sample, [count, latent].
  using Prior = std::function<at::Tensor(std::int64_t first, std::int64_t count)>;

  /// @param voice  "g" as [1, voice_dim], undefined without conditioning.
  SentenceStream(const VitsWeights& weights, const VitsConfig& config, std::int64_t frames, const at::Tensor& voice,
                 Prior prior);

  [[nodiscard]] bool is_done() const { return decoded_ == frames_; }
  /// Brings the latents of the next chunk in. Before each decode().
  void run_flow();
  /// The samples of the next chunk.
  [[nodiscard]] at::Tensor decode();

 private:
  [[nodiscard]] std::int64_t chunk_frames() const;
  [[nodiscard]] std::int64_t flow_frames(std::int64_t wanted) const;

  std::int64_t frames_;
  std::int64_t reach_;  // of the flow
  Prior prior_;
  FlowStream flow_;
  DecoderStream decoder_;
  at::Tensor latents_;        // [rows, latent], from frame decoded_ on
  std::int64_t taken_ = 0;    // frames of the prior that the flow has
  std::int64_t decoded_ = 0;  // frames that the decoder has
  std::size_t chunks_ = 0;
};

}  // namespace timbre::vits
