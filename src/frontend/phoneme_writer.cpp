// SPDX-License-Identifier: MIT
#include "frontend/phoneme_writer.hpp"

#include <algorithm>

#include "frontend/unicode.hpp"

namespace timbre::frontend {

void PhonemeWriter::look_up(std::string_view symbol, SourceRange range, SequenceBuilder& builder) const {
  if (const Ids* ids = config_.ids.find(symbol)) {
    builder.add(*ids, range, kind_of(symbol));
  } else {
    builder.skip(symbol);
  }
}

void PhonemeWriter::write_symbol(std::string_view symbol, SourceRange range, SequenceBuilder& builder) const {
  if (!config_.replacements.empty()) {
    const auto found = config_.replacements.find(std::string(symbol));
    if (found != config_.replacements.end()) {
      for (const auto& other : found->second) look_up(other, range, builder);
      return;
    }
  }
  look_up(symbol, range, builder);
}

std::size_t PhonemeWriter::symbol_size(std::string_view text) const {
  const std::size_t cluster = config_.clusters.empty() ? 0 : config_.clusters.longest_match(text);
  return std::max(cluster, first_code_point(text).size);
}

void PhonemeWriter::write_decomposed(std::string_view phonemes, SourceRange range, SequenceBuilder& builder) const {
  const std::string text = decompose(phonemes);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t size = symbol_size(rest);
    write_symbol(rest.substr(0, size), range, builder);
    rest.remove_prefix(size);
  }
}

void PhonemeWriter::write_raw(std::string_view phonemes, SourceRange range, SequenceBuilder& builder) const {
  const bool own_symbols = config_.phoneme_type != "espeak" && config_.phoneme_type != "text";
  while (!phonemes.empty()) {
    const std::size_t known = own_symbols ? config_.ids.longest_match(phonemes) : 0;
    const std::size_t size = std::max(known, symbol_size(phonemes));
    const std::string_view symbol = phonemes.substr(0, size);
    if (config_.ids.find(symbol) != nullptr || config_.replacements.contains(std::string(symbol))) {
      write_symbol(symbol, range, builder);
    } else if (is_space(first_code_point(symbol).value)) {
      write_symbol(" ", range, builder);
    } else {
      write_decomposed(symbol, range, builder);
    }
    phonemes.remove_prefix(size);
  }
}

}  // namespace timbre::frontend
