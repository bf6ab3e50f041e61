// SPDX-License-Identifier: MIT
//
// SymbolMap: which token ids a symbol becomes. Piper's phoneme_id_map (a symbol has a list of ids) and vocab.json of
// Hugging Face (a token has one) are both read into it.
//
// Invariants
//   * Immutable once made; symbols are UTF-8 and compared byte by byte; every id is in 0..2^31-1.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace timbre::frontend {

using Ids = std::vector<std::int32_t>;

/// The longest symbol, the most ids of one symbol and the largest id that are taken for real when a file is read.
inline constexpr std::size_t kMaxSymbolBytes = 256;
inline constexpr std::size_t kMaxSymbolIds = 64;
inline constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();

class SymbolMap {
 public:
  void set(std::string symbol, Ids ids);

  /// The ids of a symbol, or null.
  [[nodiscard]] const Ids* find(std::string_view symbol) const;

  /// Length in bytes of the longest symbol that `text` begins with; 0 if there is none.
  [[nodiscard]] std::size_t longest_match(std::string_view text) const;

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] bool empty() const { return ids_.empty(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Ids, Hash, std::equal_to<>> ids_;
  std::size_t longest_bytes_ = 0;
};

}  // namespace timbre::frontend
