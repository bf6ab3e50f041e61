// SPDX-License-Identifier: MIT
//
// Phonemizer: a phonemizer plug-in (c/sys/phonemizer.h) that has been opened by its full path.
//
// Invariants
//   * The plug-in's library is never unloaded.
//   * Nothing is opened before the first text needs it; ids and phoneme strings work without any plug-in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "timbre/c/sys/phonemizer.h"
#include "timbre/core/result.hpp"

namespace timbre::frontend {

/// One clause, as the plug-in gives it.
struct PhonemizerClause {
  std::string phonemes;  ///< IPA without the terminator
  char32_t terminator = 0;
  bool ends_sentence = false;
  std::uint64_t source_begin = 0;
  std::uint64_t source_end = 0;
};

/// Thread safety: all members may be called from any thread.
class Phonemizer {
 public:
  /// Opens a plug-in.
  ///
  /// @param plugin     full path of the plug-in's file.
  /// @param library    what the plug-in shall open (libespeak-ng); empty for the machine's.
  /// @param data_path  its data folder; empty for the machine's.
  /// @return kNotFound when there is no plug-in, library or data; kIncompatible for another ABI or other global state.
  static Result<std::shared_ptr<Phonemizer>> open(const std::string& plugin, const std::string& library,
                                                  const std::string& data_path);
  /// For a table that is in this program already (tests).
  static Result<std::shared_ptr<Phonemizer>> wrap(const timbre_phonemizer* table, const std::string& where,
                                                  const std::string& library, const std::string& data_path);
  ~Phonemizer();
  Phonemizer(const Phonemizer&) = delete;
  Phonemizer& operator=(const Phonemizer&) = delete;

  [[nodiscard]] Result<void> check_voice(const std::string& voice) const;

  /// The clause of `text` that begins at `offset`, which moves behind it. False when nothing is left.
  [[nodiscard]] Result<bool> next_clause(const std::string& voice, std::string_view text, std::uint64_t& offset,
                                         PhonemizerClause& out) const;

 private:
  Phonemizer(const timbre_phonemizer* table, void* self) : table_(table), self_(self) {}

  const timbre_phonemizer* table_;
  void* self_;
};

/// Called when a text first needs phonemes. The engine keeps one Phonemizer and answers with it each time.
using PhonemizerProvider = std::function<Result<std::shared_ptr<Phonemizer>>()>;

/// A phonemizer that has `voice`; kNotFound without a provider. `wanted_by` is the file and key that name the voice.
[[nodiscard]] Result<std::shared_ptr<Phonemizer>> open_phonemizer(const PhonemizerProvider& provider,
                                                                  const std::string& voice,
                                                                  const std::string& wanted_by);

}  // namespace timbre::frontend
