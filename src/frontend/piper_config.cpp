// SPDX-License-Identifier: MIT
#include "frontend/piper_config.hpp"

#include "files/json_object.hpp"
#include "frontend/unicode.hpp"

namespace timbre::frontend {
namespace {

using files::Json;
using files::JsonObject;

std::string lower_ascii(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string quoted(const char* key, const std::string& name) { return std::string(key) + "[\"" + name + "\"]"; }

void fail_symbol(JsonObject& root, const char* key, const std::string& symbol) {
  root.fail(key, "has a symbol of " + std::to_string(symbol.size()) + " bytes; 1.." + std::to_string(kMaxSymbolBytes) +
                     " are possible");
}

void read_id_map(JsonObject& root, SymbolMap& out) {
  if (!root.contains("phoneme_id_map")) root.fail("phoneme_id_map", "is missing");
  const Json& map = root.object("phoneme_id_map").value();
  for (const auto& [symbol, list] : map.items()) {
    const std::string key = quoted("phoneme_id_map", symbol);
    if (symbol.empty() || symbol.size() > kMaxSymbolBytes) return fail_symbol(root, "phoneme_id_map", symbol);
    if (!list.is_array()) return root.fail(key, "a list of ids", list);
    if (list.size() > kMaxSymbolIds) {
      return root.fail(key, "has " + std::to_string(list.size()) + " ids; at most " + std::to_string(kMaxSymbolIds) +
                                " are possible");
    }
    Ids ids;
    for (const Json& value : list) {
      ids.push_back(static_cast<std::int32_t>(root.read_integer(value, key, 0, 0, kMaxId)));
    }
    out.set(symbol, std::move(ids));
  }
}

void read_rules(JsonObject& root, const SymbolMap& map, SequenceRules& out) {
  const auto take = [&](const char* symbol, const char* role) {
    const Ids* ids = map.find(symbol);
    if (ids != nullptr && !ids->empty()) return *ids;
    root.fail("phoneme_id_map", "has no \"" + std::string(symbol) + "\" (" + role + ")");
    return Ids{};
  };
  const Ids pad = take("_", "padding");
  out.begin = take("^", "begin of a sentence");
  out.begin.insert(out.begin.end(), pad.begin(), pad.end());
  out.after_symbol = pad;
  out.end = take("$", "end of a sentence");
}

void read_replacements(JsonObject& root, PiperConfig& out) {
  const Json& map = root.object("phoneme_map").value();
  for (const auto& [symbol, list] : map.items()) {
    const std::string key = quoted("phoneme_map", symbol);
    std::vector<std::string> symbols = root.read_texts(list, key);
    if (symbols.size() > kMaxSymbolIds) {
      return root.fail(key, "has " + std::to_string(symbols.size()) + " symbols; at most " +
                                std::to_string(kMaxSymbolIds) + " are possible");
    }
    out.replacements.emplace(symbol, std::move(symbols));
  }
}

void read_clusters(JsonObject& root, SymbolMap& out) {
  if (!root.contains("vowel_clusters")) return;
  const Json& list = root.value()["vowel_clusters"];
  if (!list.is_array() && !(list.is_object() && list.empty())) {
    return root.fail("vowel_clusters", "a list of lists", list);
  }
  for (const Json& cluster : list) {
    std::string name;
    for (const auto& part : root.read_texts(cluster, "vowel_clusters")) name += part;
    if (name.empty() || name.size() > kMaxSymbolBytes) return fail_symbol(root, "vowel_clusters", name);
    out.set(std::move(name), {});
  }
}

void read_language(JsonObject& root, PiperConfig& out) {
  out.voice = root.object("espeak").text("voice", "");
  out.language = root.object("language").text("code", "");
  if (out.voice.empty()) {  // en_US names the voice en-us as well
    out.voice = lower_ascii(out.language);
    for (char& c : out.voice) c = c == '_' ? '-' : c;
  }
  if (out.language.empty()) out.language = out.voice;
}

}  // namespace

Result<PiperConfig> parse_piper_config(std::string_view json, std::string_view where) {
  auto root = JsonObject::parse(json, where);
  if (!root) return std::move(root).error();
  PiperConfig config;
  config.phoneme_type = lower_ascii(root->text("phoneme_type", config.phoneme_type));
  if (config.phoneme_type.starts_with("phonemetype.")) config.phoneme_type.erase(0, sizeof("phonemetype.") - 1);
  read_id_map(*root, config.ids);
  read_rules(*root, config.ids, config.rules);
  read_replacements(*root, config);
  read_clusters(*root, config.clusters);
  read_language(*root, config);
  if (auto read = root->result(); !read) return std::move(read).error();
  return config;
}

}  // namespace timbre::frontend
