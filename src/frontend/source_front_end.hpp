// SPDX-License-Identifier: MIT
//
// SourceFrontEnd: what the front ends share. Each says where the symbols of a text come from and how their ids are laid
// out; opening a text is the same for all.
#pragma once

#include <memory>
#include <string_view>

#include "frontend/symbol_source.hpp"

namespace timbre::frontend {

class SourceFrontEnd : public FrontEnd {
 public:
  [[nodiscard]] Result<std::unique_ptr<TextCursor>> open(std::string_view text, InputKind kind) const final;

 protected:
  using Source = std::unique_ptr<SymbolSource>;

 private:
  /// The source of a text that is valid UTF-8 and outlives it. Errors as open().
  [[nodiscard]] virtual Result<Source> make_source(std::string_view text, InputKind kind) const = 0;
  /// Lives as long as the front end.
  [[nodiscard]] virtual const SequenceRules& rules() const = 0;
};

}  // namespace timbre::frontend
