// SPDX-License-Identifier: MIT
#include "frontend/character_config.hpp"

#include "files/json_object.hpp"

namespace timbre::frontend {
namespace {

using files::JsonObject;

// One token id per token; added tokens without a place in the vocabulary only keep their case.
Result<void> read_tokens(const NamedText& file, SymbolMap& out) {
  auto root = JsonObject::parse(file.text, file.where);
  if (!root) return std::move(root).error();
  for (const auto& [token, value] : root->value().items()) {
    const std::string key = "\"" + token + "\"";
    if (token.empty() || token.size() > kMaxSymbolBytes) {
      root->fail(key, "has " + std::to_string(token.size()) + " bytes; 1.." + std::to_string(kMaxSymbolBytes) +
                          " are possible");
      break;
    }
    out.set(token, {static_cast<std::int32_t>(root->read_integer(value, key, 0, 0, kMaxId))});
  }
  return root->result();
}

Result<void> read_options(const NamedText& file, CharacterConfig& out) {
  if (file.text.empty()) return {};
  auto root = JsonObject::parse(file.text, file.where);
  if (!root) return std::move(root).error();
  out.language = root->text("language", out.language);
  out.add_blank = root->boolean("add_blank", out.add_blank);
  out.normalize = root->boolean("normalize", out.normalize);
  out.phonemize = root->boolean("phonemize", out.phonemize);
  out.is_uroman = root->boolean("is_uroman", out.is_uroman);
  return root->result();
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
    auto root = JsonObject::parse(files.special_tokens_map.text, files.special_tokens_map.where);
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
