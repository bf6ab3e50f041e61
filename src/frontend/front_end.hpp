// SPDX-License-Identifier: MIT
//
// FrontEnd: what turns text into the token ids of one model. Implemented by Piper's rules (piper_front_end.hpp) and by
// the Hugging Face character tokenizer (character_front_end.hpp).
//
// Invariants
//   * A FrontEnd is immutable and may be used from any thread; a TextCursor belongs to one thread at a time.
//   * Text is taken sentence by sentence: a cursor holds one sentence, whatever the length of the text.
//   * Every sentence has 1..max_ids ids; a longer one is split at its last space and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::frontend {

enum class InputKind : std::int32_t { kText = 0, kPhonemes = 1 };

/// Source bytes [begin, end) that a token comes from: its word's where that is known, else its clause's.
struct SourceRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// One sentence as the model takes it. `ranges` has one entry for each id.
struct Sentence {
  std::vector<std::int32_t> ids;
  std::vector<SourceRange> ranges;
  std::uint64_t skipped_symbols = 0;
  std::string first_skipped;  ///< the first symbol that was skipped, for messages; empty if none
  bool split = false;         ///< cut from the sentence before it because that had more than max_ids ids
};

class TextCursor {
 public:
  virtual ~TextCursor() = default;
  /// The next sentence into `out`, or false at the end. Sentences without any known symbol are passed over; their
  /// skipped symbols count with the next sentence, or at the end in skipped_at_end().
  virtual Result<bool> next(Sentence& out) = 0;
  /// Skipped symbols that belong to no sentence; valid after next() gave false.
  [[nodiscard]] virtual std::uint64_t skipped_at_end() const = 0;
};

class FrontEnd {
 public:
  virtual ~FrontEnd() = default;
  /// "espeak", "text", "characters".
  [[nodiscard]] virtual std::string kind() const = 0;
  [[nodiscard]] virtual std::string language() const = 0;
  /// Begins a text, which must outlive the cursor and be valid UTF-8 (else kInvalidArgument with the byte offset).
  /// kNotFound when a phonemizer is needed and the machine has none; kUnsupported for an input kind that it lacks.
  [[nodiscard]] virtual Result<std::unique_ptr<TextCursor>> open(std::string_view text, InputKind kind) const = 0;
};

}  // namespace timbre::frontend
