// SPDX-License-Identifier: MIT
//
// TorchBackend: what libtimbre-torch.so offers to speech.
#pragma once

#include "speech/synthesizer.hpp"

namespace timbre::vits {

class TorchBackend : public speech::Backend {
 public:
  void enter_thread(std::uint32_t thread_count) override;
  void side_by_side(const std::function<void()>& lane) override;
  [[nodiscard]] Result<std::unique_ptr<speech::Synthesizer>> load(const speech::ModelFiles& files,
                                                                  const LoadOptions& options) override;
};

}  // namespace timbre::vits
