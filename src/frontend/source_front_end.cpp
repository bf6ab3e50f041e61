// SPDX-License-Identifier: MIT
#include "frontend/source_front_end.hpp"

#include "frontend/unicode.hpp"

namespace timbre::frontend {

Result<std::unique_ptr<TextCursor>> SourceFrontEnd::open(std::string_view text, InputKind kind) const {
  if (auto valid = check_utf8(text); !valid) return std::move(valid).error();
  auto source = make_source(text, kind);
  if (!source) return std::move(source).error();
  return std::unique_ptr<TextCursor>(std::make_unique<SourceCursor>(std::move(*source), rules()));
}

}  // namespace timbre::frontend
