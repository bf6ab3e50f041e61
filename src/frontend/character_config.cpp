// SPDX-License-Identifier: MIT
#include "frontend/character_config.hpp"

#include "frontend/json_reader.hpp"

namespace timbre::frontend {
namespace {

// One token id per token; added tokens without a place in the vocabulary only keep their case.
Result<void> read_tokens(const NamedText& file, SymbolMap& out) {
  auto root = parse_json_object(file.text, file.where);
  if (!root) return std::move(root).error();
  for (const auto& [token, value] : root->items()) {
    if (token.empty() || token.size() > kMaxSymbolBytes) {
      return Error{Status::kFormat, std::string(file.where) + ": a token has " + std::to_string(token.size()) +
                                        " bytes; 1.." + std::to_string(kMaxSymbolBytes) + " are possible"};
    }
    auto id = read_id(value, file.where, "\"" + token + "\"");
    if (!id) return std::move(id).error();
    out.set(token, {*id});
  }
  return {};
}

Result<void> read_options(const NamedText& file, CharacterConfig& out) {
  if (file.text.empty()) return {};
  auto root = parse_json_object(file.text, file.where);
  if (!root) return std::move(root).error();
  if (auto done = read_string(*root, "language", file.where, out.language); !done) return done;
  if (auto done = read_bool(*root, "add_blank", file.where, out.add_blank); !done) return done;
  if (auto done = read_bool(*root, "normalize", file.where, out.normalize); !done) return done;
  if (auto done = read_bool(*root, "phonemize", file.where, out.phonemize); !done) return done;
  return read_bool(*root, "is_uroman", file.where, out.is_uroman);
}

}  // namespace

Result<CharacterConfig> parse_character_config(const CharacterFiles& files) {
  CharacterConfig config;
  if (auto done = read_tokens(files.vocab, config.ids); !done) return std::move(done).error();
  if (config.ids.empty()) return Error{Status::kFormat, std::string(files.vocab.where) + ": it has no tokens"};
  config.tokens = config.ids;
  if (!files.added_tokens.text.empty()) {
    if (auto done = read_tokens(files.added_tokens, config.tokens); !done) return std::move(done).error();
  }
  if (!files.special_tokens_map.text.empty()) {
    auto root = parse_json_object(files.special_tokens_map.text, files.special_tokens_map.where);
    if (!root) return std::move(root).error();
  }
  if (auto done = read_options(files.tokenizer_config, config); !done) return std::move(done).error();
  if (config.add_blank) {
    config.rules.begin = {0};
    config.rules.after_symbol = {0};
  }
  return config;
}

}  // namespace timbre::frontend
