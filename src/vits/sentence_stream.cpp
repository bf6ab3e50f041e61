// SPDX-License-Identifier: MIT
#include "vits/sentence_stream.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace timbre::vits {

SentenceStream::SentenceStream(const VitsWeights& weights, const VitsConfig& config, std::int64_t frames,
                               const at::Tensor& voice, Prior prior)
    : frames_(frames),
      reach_(flow_reach_frames(config)),
      prior_(std::move(prior)),
      flow_(weights.flow, config, frames, voice),
      decoder_(weights.decoder, config, frames,
               weights.decoder.condition ? weights.decoder.condition(voice) : at::Tensor()),
      latents_(at::empty({0, config.latent}, float_options())) {}

std::int64_t SentenceStream::chunk_frames() const {
  return std::min(chunks_ < kFirstFrames.size() ? kFirstFrames[chunks_] : kChunkFrames, frames_ - decoded_);
}

std::int64_t SentenceStream::flow_frames(std::int64_t wanted) const {
  constexpr std::int64_t kBlock = 16;
  const std::int64_t size = taken_ == 0 ? kBlock : chunks_ < kFirstFrames.size() ? kSecondFlowFrames : kFlowFrames;
  return std::min(round_up(wanted - taken_, size), frames_ - taken_);
}

void SentenceStream::run_flow() {
  const std::int64_t wanted = std::min(frames_, decoded_ + chunk_frames() + reach_);
  if (wanted <= taken_) return;
  const std::int64_t count = flow_frames(wanted);
  latents_ = at::cat({latents_, flow_.step(prior_(taken_, count), count)});
  taken_ += count;
}

at::Tensor SentenceStream::decode() {
  const std::int64_t count = chunk_frames();
  const at::Tensor samples = decoder_.step(latents_, count);
  latents_ = latents_.slice(0, count).clone();
  decoded_ += count;
  ++chunks_;
  return samples;
}

}  // namespace timbre::vits
