// SPDX-License-Identifier: MIT
//
// SequenceBuilder: collects the symbols of a sentence and lays their ids out as a model wants them: something at the
// begin, something behind each symbol, something at the end. Piper: bos pad (ids pad)* eos. Hugging Face: blank (id
// blank)*.
//
// Invariants
//   * A sentence that comes out has 1..max_ids ids and at least one symbol that is no space.
//   * It holds no more symbols than one sentence and the step that overfilled it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/front_end.hpp"
#include "frontend/symbol_map.hpp"

namespace timbre::frontend {

/// The longest sentence in ids; speech asserts that its own limit is the same.
inline constexpr std::size_t kMaxSentenceIds = 2048;

struct SequenceRules {
  Ids begin;
  Ids after_symbol;
  Ids end;
};

/// Where a sentence that is too long may be cut.
enum class SymbolKind : std::uint8_t { kPlain, kSpace, kSentenceMark };

/// The kind of a symbol by its text: " " and . ? ! are what a cut looks for.
[[nodiscard]] SymbolKind kind_of(std::string_view symbol);

class SequenceBuilder {
 public:
  SequenceBuilder(const SequenceRules& rules, std::size_t max_ids) : rules_(rules), max_ids_(max_ids) {}

  void add(const Ids& ids, SourceRange range, SymbolKind kind);
  /// Counts a symbol that the model does not know.
  void skip(std::string_view symbol);

  /// True once the symbols no longer fit into one sentence.
  [[nodiscard]] bool overfull() const { return id_count_ + rules_.begin.size() + rules_.end.size() > max_ids_; }
  /// Cuts a sentence off at the last place that is fit for it: only when overfull().
  void cut(Sentence& out);
  /// Closes the sentence. False when it has no symbol; spaces alone are dropped.
  bool finish(Sentence& out);

  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  struct Symbol {
    std::size_t first_id;
    std::size_t id_count;
    SourceRange range;
    SymbolKind kind;
  };

  [[nodiscard]] std::size_t cut_position() const;
  void emit(std::size_t count, Sentence& out);
  void drop_front(std::size_t count);

  const SequenceRules& rules_;
  const std::size_t max_ids_;
  std::vector<Symbol> symbols_;
  Ids ids_;
  std::size_t id_count_ = 0;  // with what follows each symbol
  std::uint64_t skipped_ = 0;
  std::string first_skipped_;
  bool continues_ = false;  // the sentence before was cut
};

}  // namespace timbre::frontend
