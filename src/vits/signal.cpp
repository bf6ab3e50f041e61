// SPDX-License-Identifier: MIT
#include "vits/signal.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace timbre::vits {

Signal::Signal(std::int64_t channels, std::int64_t left, std::int64_t length)
    : kept_(at::zeros({left, channels}, float_options())), begin_(-left), length_(length) {}

Signal::Window Signal::extend(const at::Tensor& fresh, std::int64_t count, std::int64_t slack) {
  const std::int64_t kept = kept_.size(0);
  Window window{at::empty({kept + count + slack, kept_.size(1)}, kept_.options()), begin_};
  window.rows.slice(0, 0, kept).copy_(kept_);
  window.rows.slice(0, kept, kept + count).copy_(fresh.slice(0, 0, count));
  window.rows.slice(0, kept + count).zero_();
  end_ += count;
  return window;
}

void Signal::keep(const Window& window, std::int64_t position) {
  kept_ = window.range(position, end_).clone();
  begin_ = position;
}

}  // namespace timbre::vits
