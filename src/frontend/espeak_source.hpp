// SPDX-License-Identifier: MIT
//
// EspeakSource: text by a phonemizer's clauses, with [[ raw phonemes ]] in between. Follows Piper in what a sentence
// is: raw phonemes join the sentence before and behind them.
//
// PhonemeStringSource: a phoneme string that a caller gives; one sentence, however many full stops it has.
#pragma once

#include <memory>
#include <string_view>

#include "frontend/phoneme_writer.hpp"
#include "frontend/phonemizer.hpp"
#include "frontend/symbol_source.hpp"

namespace timbre::frontend {

/// A stretch of text, or what stands between [[ and ]]. Offsets in bytes.
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool raw = false;
};

/// Cuts a text into parts, in linear time however many brackets are never closed.
class PartReader {
 public:
  explicit PartReader(std::string_view text) : text_(text) {}
  /// False at the end. Raw parts include their brackets; they close on the line where they began.
  bool next(TextPart& out);

 private:
  [[nodiscard]] bool find_raw(std::size_t from, TextPart& out);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t closing_ = 0;  // the first ]] behind the last place that was asked for
};

class EspeakSource final : public SymbolSource {
 public:
  EspeakSource(const PiperConfig& config, std::shared_ptr<Phonemizer> phonemizer, std::string_view text)
      : config_(config), writer_(config), phonemizer_(std::move(phonemizer)), text_(text), parts_(text) {}

  /// False when the text has nothing but raw phonemes and white space.
  static bool needs_phonemizer(std::string_view text);

  Result<Step> step(SequenceBuilder& builder) override;

 private:
  Result<Step> step_text(SequenceBuilder& builder);
  void step_raw(SequenceBuilder& builder);
  void write_clause(const PhonemizerClause& clause, SequenceBuilder& builder) const;
  bool advance();

  const PiperConfig& config_;
  const PhonemeWriter writer_;
  const std::shared_ptr<Phonemizer> phonemizer_;
  const std::string_view text_;
  PartReader parts_;
  TextPart part_;
  TextPart next_part_;
  bool started_ = false;
  bool has_next_ = false;
  std::size_t at_ = 0;  // in text_, inside part_
  PhonemizerClause clause_;
};

class PhonemeStringSource final : public SymbolSource {
 public:
  PhonemeStringSource(const PiperConfig& config, std::string_view phonemes) : writer_(config), text_(phonemes) {}
  Result<Step> step(SequenceBuilder& builder) override;

 private:
  const PhonemeWriter writer_;
  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace timbre::frontend
