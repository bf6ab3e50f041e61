// SPDX-License-Identifier: MIT
//
// SymbolSource: where a text's symbols come from, a bounded step at a time; SourceCursor makes sentences of them.
#pragma once

#include <memory>

#include "frontend/sequence_builder.hpp"

namespace timbre::frontend {

enum class Step : std::uint8_t { kMore, kSentenceEnd, kTextEnd };

/// Implemented by espeak clauses, phoneme strings, plain characters.
class SymbolSource {
 public:
  virtual ~SymbolSource() = default;
  /// Adds some symbols (at most a few thousand) to `builder`. After kTextEnd it is not called again.
  virtual Result<Step> step(SequenceBuilder& builder) = 0;
};

/// The one TextCursor: sentences from any source.
class SourceCursor final : public TextCursor {
 public:
  /// `rules` and what the source refers to must outlive the cursor.
  SourceCursor(std::unique_ptr<SymbolSource> source, const SequenceRules& rules, std::size_t max_ids = kMaxSentenceIds)
      : source_(std::move(source)), builder_(rules, max_ids) {}

  Result<bool> next(Sentence& out) override;
  [[nodiscard]] std::uint64_t skipped_at_end() const override { return builder_.skipped(); }

 private:
  std::unique_ptr<SymbolSource> source_;
  SequenceBuilder builder_;
  Step state_ = Step::kMore;
};

}  // namespace timbre::frontend
