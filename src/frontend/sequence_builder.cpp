// SPDX-License-Identifier: MIT
#include "frontend/sequence_builder.hpp"

#include <algorithm>

namespace timbre::frontend {

SymbolKind kind_of(std::string_view symbol) {
  if (symbol == " ") return SymbolKind::kSpace;
  if (symbol == "." || symbol == "?" || symbol == "!") return SymbolKind::kSentenceMark;
  return SymbolKind::kPlain;
}

void SequenceBuilder::add(const Ids& ids, SourceRange range, SymbolKind kind) {
  symbols_.push_back({ids_.size(), ids.size(), range, kind});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  id_count_ += ids.size() + rules_.after_symbol.size();
}

void SequenceBuilder::skip(std::string_view symbol) {
  if (skipped_ == 0) first_skipped_ = symbol;
  ++skipped_;
}

// The number of symbols of the sentence to cut off: up to the last sentence end in the second half of the room, else up
// to the last space, else as many as fit.
std::size_t SequenceBuilder::cut_position() const {
  std::size_t room = max_ids_ - rules_.begin.size() - rules_.end.size();
  std::size_t fit = 0;
  while (fit < symbols_.size()) {
    const std::size_t need = symbols_[fit].id_count + rules_.after_symbol.size();
    if (need > room) break;
    room -= need;
    ++fit;
  }
  std::size_t space = 0;
  for (std::size_t at = std::min(fit, symbols_.size() - 1); at > 0; --at) {
    if (symbols_[at].kind != SymbolKind::kSpace) continue;
    if (space == 0) space = at;
    if (at < fit / 2) break;
    if (symbols_[at - 1].kind == SymbolKind::kSentenceMark) return at;
  }
  return space > 0 ? space : std::max<std::size_t>(fit, 1);
}

void SequenceBuilder::emit(std::size_t count, Sentence& out) {
  out = Sentence{};
  const auto insert = [&out](const Ids& ids, std::uint64_t at) {
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.ranges.insert(out.ranges.end(), ids.size(), SourceRange{at, at});
  };
  insert(rules_.begin, symbols_.front().range.begin);
  for (std::size_t i = 0; i < count; ++i) {
    const Symbol& symbol = symbols_[i];
    const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(symbol.first_id);
    out.ids.insert(out.ids.end(), first, first + static_cast<std::ptrdiff_t>(symbol.id_count));
    out.ranges.insert(out.ranges.end(), symbol.id_count, symbol.range);
    insert(rules_.after_symbol, symbol.range.end);
  }
  insert(rules_.end, symbols_[count - 1].range.end);
  out.skipped_symbols = skipped_;
  out.first_skipped = std::move(first_skipped_);
  out.split = continues_;
  skipped_ = 0;
  first_skipped_.clear();
}

void SequenceBuilder::drop_front(std::size_t count) {
  while (count < symbols_.size() && symbols_[count].kind == SymbolKind::kSpace) ++count;
  const std::size_t first_id = count < symbols_.size() ? symbols_[count].first_id : ids_.size();
  symbols_.erase(symbols_.begin(), symbols_.begin() + static_cast<std::ptrdiff_t>(count));
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(first_id));
  for (Symbol& symbol : symbols_) symbol.first_id -= first_id;
  id_count_ = ids_.size() + symbols_.size() * rules_.after_symbol.size();
}

void SequenceBuilder::cut(Sentence& out) {
  const std::size_t count = cut_position();
  emit(count, out);
  drop_front(count);
  continues_ = !symbols_.empty();
}

bool SequenceBuilder::finish(Sentence& out) {
  const bool any = std::any_of(symbols_.begin(), symbols_.end(),
                               [](const Symbol& symbol) { return symbol.kind != SymbolKind::kSpace; });
  if (any) emit(symbols_.size(), out);
  symbols_.clear();
  ids_.clear();
  id_count_ = 0;
  continues_ = false;
  return any;
}

}  // namespace timbre::frontend
