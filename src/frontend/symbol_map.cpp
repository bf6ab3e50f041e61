// SPDX-License-Identifier: MIT
#include "frontend/symbol_map.hpp"

#include <algorithm>
#include <utility>

namespace timbre::frontend {

void SymbolMap::set(std::string symbol, Ids ids) {
  longest_bytes_ = std::max(longest_bytes_, symbol.size());
  ids_.insert_or_assign(std::move(symbol), std::move(ids));
}

const Ids* SymbolMap::find(std::string_view symbol) const {
  const auto found = ids_.find(symbol);
  return found == ids_.end() ? nullptr : &found->second;
}

std::size_t SymbolMap::longest_match(std::string_view text) const {
  for (std::size_t size = std::min(longest_bytes_, text.size()); size > 0; --size) {
    const bool inside = size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U;
    if (!inside && ids_.contains(text.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace timbre::frontend
