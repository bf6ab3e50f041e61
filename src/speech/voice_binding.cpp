// SPDX-License-Identifier: MIT
#include "speech/voice_binding.hpp"

#include <fmt/format.h>

namespace timbre::speech {
namespace {

Error mismatch(std::string message) { return {Status::kMismatch, std::move(message)}; }

Result<void> check_vector(const voice::Tensor& g, std::string_view what, const ModelFacts& facts) {
  if (facts.voice_dim == 0) {
    return mismatch(fmt::format("{} has a vector 'g', but the model takes no speaker conditioning", what));
  }
  if (!g.is_floating()) {
    return mismatch(fmt::format("{}: 'g' has an integer type, expected floating point", what));
  }
  std::int64_t count = 1;
  std::size_t long_axes = 0;
  for (const std::int64_t extent : g.shape) {
    count *= extent;
    if (extent != 1) ++long_axes;
  }
  if (count != facts.voice_dim || long_axes > 1) {
    return mismatch(
        fmt::format("{}: 'g' has shape {}, the model takes [{}]", what, voice::shape_text(g.shape), facts.voice_dim));
  }
  return {};
}

}  // namespace

Result<void> check_speaker(std::optional<std::int32_t> speaker, const ModelFacts& facts) {
  if (!speaker) {
    if (facts.speaker_count == 1 || facts.default_speaker >= 0) return {};
    return Error{
        Status::kInvalidArgument,
        fmt::format("the model has {} speakers and no default: name a voice or a speaker", facts.speaker_count)};
  }
  if (*speaker < 0 || static_cast<std::uint32_t>(*speaker) >= facts.speaker_count) {
    return Error{Status::kInvalidArgument,
                 fmt::format("speaker {} is out of range, the model has 0..{}", *speaker, facts.speaker_count - 1)};
  }
  return {};
}

Result<void> check_fit(const voice::VoiceRecord& record, std::string_view what, const ModelFacts& facts,
                       bool inline_tensors) {
  if (!inline_tensors) {
    if (record.model_fingerprint.empty()) {
      return mismatch(fmt::format("{} names no model, so it cannot be spoken", what));
    }
    if (record.model_fingerprint != facts.fingerprint) {
      return mismatch(
          fmt::format("{} belongs to model {}, this model is {}", what, record.model_fingerprint, facts.fingerprint));
    }
  }
  if (const voice::Tensor* g = record.find("g")) return check_vector(*g, what, facts);
  if (!record.tensors.empty()) {
    return mismatch(fmt::format("{} has no tensor 'g', only '{}'", what, record.tensors.front().name));
  }
  if (!record.speaker && facts.speaker_count > 1) {
    return mismatch(fmt::format("{} names neither a vector nor a speaker, and the model has {} speakers", what,
                                facts.speaker_count));
  }
  if (Result<void> speaker = check_speaker(record.speaker, facts); !speaker) {
    return mismatch(fmt::format("{}: {}", what, speaker.error().message));
  }
  return {};
}

Result<std::vector<float>> bind_speaker(std::optional<std::int32_t> speaker, const Synthesizer& synthesizer) {
  const ModelFacts& facts = synthesizer.facts();
  if (Result<void> checked = check_speaker(speaker, facts); !checked) return std::move(checked).error();
  if (facts.voice_dim == 0) return std::vector<float>{};
  return synthesizer.speaker_vector(speaker.value_or(facts.default_speaker >= 0 ? facts.default_speaker : 0));
}

Result<std::vector<float>> bind_record(const voice::VoiceRecord& record, const Synthesizer& synthesizer) {
  if (const voice::Tensor* g = record.find("g")) return voice::to_floats(g->view());
  return bind_speaker(record.speaker, synthesizer);
}

}  // namespace timbre::speech
