// SPDX-License-Identifier: MIT
#include "frontend/piper_config.hpp"

#include "frontend/json_reader.hpp"
#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

std::string lower_ascii(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string quoted(const char* key, const std::string& name) { return std::string(key) + "[\"" + name + "\"]"; }

Error bad_symbol(std::string_view where, const char* key, const std::string& symbol) {
  return Error{Status::kFormat, std::string(where) + ": " + key + " has a symbol of " + std::to_string(symbol.size()) +
                                    " bytes; 1.." + std::to_string(kMaxSymbolBytes) + " are possible"};
}

Result<void> read_id_map(const Json& root, std::string_view where, SymbolMap& out) {
  const Json* map = member(root, "phoneme_id_map");
  if (map == nullptr) return Error{Status::kFormat, std::string(where) + ": phoneme_id_map is missing"};
  if (!map->is_object()) return wrong_type(where, "phoneme_id_map", "an object", *map);
  for (const auto& [symbol, list] : map->items()) {
    const std::string key = quoted("phoneme_id_map", symbol);
    if (symbol.empty() || symbol.size() > kMaxSymbolBytes) return bad_symbol(where, "phoneme_id_map", symbol);
    if (!list.is_array()) return wrong_type(where, key, "a list of ids", list);
    if (list.size() > kMaxSymbolIds) {
      return Error{Status::kFormat, std::string(where) + ": " + key + " has " + std::to_string(list.size()) +
                                        " ids; at most " + std::to_string(kMaxSymbolIds) + " are possible"};
    }
    Ids ids;
    for (const Json& value : list) {
      auto id = read_id(value, where, key);
      if (!id) return std::move(id).error();
      ids.push_back(*id);
    }
    out.set(symbol, std::move(ids));
  }
  return {};
}

Result<void> read_rules(std::string_view where, const SymbolMap& map, SequenceRules& out) {
  const auto take = [&](const char* symbol, const char* role, const Ids*& ids) -> Result<void> {
    ids = map.find(symbol);
    if (ids != nullptr && !ids->empty()) return {};
    return Error{Status::kFormat, std::string(where) + ": phoneme_id_map has no \"" + symbol + "\" (" + role + ")"};
  };
  const Ids* pad = nullptr;
  const Ids* begin = nullptr;
  const Ids* end = nullptr;
  if (auto done = take("_", "padding", pad); !done) return done;
  if (auto done = take("^", "begin of a sentence", begin); !done) return done;
  if (auto done = take("$", "end of a sentence", end); !done) return done;
  out.begin = *begin;
  out.begin.insert(out.begin.end(), pad->begin(), pad->end());
  out.after_symbol = *pad;
  out.end = *end;
  return {};
}

Result<std::vector<std::string>> read_strings(const Json& list, std::string_view where, const std::string& key) {
  if (!list.is_array()) return wrong_type(where, key, "a list of strings", list);
  std::vector<std::string> out;
  for (const Json& value : list) {
    if (!value.is_string()) return wrong_type(where, key, "a list of strings", value);
    out.push_back(value.get<std::string>());
  }
  return out;
}

Result<void> read_replacements(const Json& root, std::string_view where, PiperConfig& out) {
  const Json* map = member(root, "phoneme_map");
  if (map == nullptr) return {};
  if (!map->is_object()) return wrong_type(where, "phoneme_map", "an object", *map);
  for (const auto& [symbol, list] : map->items()) {
    auto symbols = read_strings(list, where, quoted("phoneme_map", symbol));
    if (!symbols) return std::move(symbols).error();
    if (symbols->size() > kMaxSymbolIds) return bad_symbol(where, "phoneme_map", symbol);
    out.replacements.emplace(symbol, std::move(*symbols));
  }
  return {};
}

Result<void> read_clusters(const Json& root, std::string_view where, SymbolMap& out) {
  const Json* list = member(root, "vowel_clusters");
  if (list == nullptr) return {};
  if (!list->is_array() && !(list->is_object() && list->empty())) {
    return wrong_type(where, "vowel_clusters", "a list of lists", *list);
  }
  for (const Json& cluster : *list) {
    auto parts = read_strings(cluster, where, "vowel_clusters");
    if (!parts) return std::move(parts).error();
    std::string name;
    for (const auto& part : *parts) name += part;
    if (name.empty() || name.size() > kMaxSymbolBytes) return bad_symbol(where, "vowel_clusters", name);
    out.set(std::move(name), {});
  }
  return {};
}

Result<void> read_language(const Json& root, std::string_view where, PiperConfig& out) {
  if (const Json* espeak = member(root, "espeak")) {
    if (!espeak->is_object()) return wrong_type(where, "espeak", "an object", *espeak);
    if (auto done = read_string(*espeak, "voice", where, out.voice); !done) return done;
  }
  if (const Json* language = member(root, "language")) {
    if (!language->is_object()) return wrong_type(where, "language", "an object", *language);
    if (auto done = read_string(*language, "code", where, out.language); !done) return done;
  }
  if (out.voice.empty()) {  // en_US names the voice en-us as well
    out.voice = lower_ascii(out.language);
    for (char& c : out.voice) c = c == '_' ? '-' : c;
  }
  if (out.language.empty()) out.language = out.voice;
  return {};
}

}  // namespace

Result<PiperConfig> parse_piper_config(std::string_view json, std::string_view where) {
  auto root = parse_json_object(json, where);
  if (!root) return std::move(root).error();
  PiperConfig config;
  if (auto done = read_string(*root, "phoneme_type", where, config.phoneme_type); !done) return std::move(done).error();
  config.phoneme_type = lower_ascii(config.phoneme_type);
  if (config.phoneme_type.starts_with("phonemetype.")) config.phoneme_type.erase(0, sizeof("phonemetype.") - 1);
  if (auto done = read_id_map(*root, where, config.ids); !done) return std::move(done).error();
  if (auto done = read_rules(where, config.ids, config.rules); !done) return std::move(done).error();
  if (auto done = read_replacements(*root, where, config); !done) return std::move(done).error();
  if (auto done = read_clusters(*root, where, config.clusters); !done) return std::move(done).error();
  if (auto done = read_language(*root, where, config); !done) return std::move(done).error();
  return config;
}

}  // namespace timbre::frontend
