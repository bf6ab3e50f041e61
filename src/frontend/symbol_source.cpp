// SPDX-License-Identifier: MIT
#include "frontend/symbol_source.hpp"

namespace timbre::frontend {

Result<bool> SourceCursor::next(Sentence& out) {
  for (;;) {
    if (builder_.overfull()) {
      builder_.cut(out);
      return true;
    }
    if (state_ != Step::kMore) {
      const bool any = builder_.finish(out);
      const bool last = state_ == Step::kTextEnd;
      if (!last) state_ = Step::kMore;
      if (any) return true;
      if (last) return false;
    }
    auto step = source_->step(builder_);
    if (!step) return std::move(step).error();
    state_ = *step;
  }
}

}  // namespace timbre::frontend
