// SPDX-License-Identifier: MIT
//
// VitsSynthesizer: the VITS graph behind speech's interface.
#pragma once

#include <memory>

#include "speech/synthesizer.hpp"
#include "vits/vits_graph.hpp"

namespace timbre::vits {

class VitsSynthesizer : public speech::Synthesizer {
 public:
  VitsSynthesizer(speech::ModelFacts facts, VitsGraph graph);

  [[nodiscard]] const speech::ModelFacts& facts() const override { return facts_; }
  [[nodiscard]] Result<std::vector<float>> speaker_vector(std::int32_t speaker) const override;
  [[nodiscard]] Result<std::unique_ptr<speech::SegmentRun>> begin(const speech::SegmentInput& input) const override;

  /// Before the model is shared.
  void allow_side_by_side() { facts_.side_by_side = true; }

  [[nodiscard]] const VitsGraph& graph() const { return graph_; }

 private:
  speech::ModelFacts facts_;
  VitsGraph graph_;
};

}  // namespace timbre::vits
