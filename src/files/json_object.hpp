// SPDX-License-Identifier: MIT
//
// JsonObject: a configuration file's object whose faults name the file and the key. nlohmann-json behind it.
//
// Invariants
//   * Reading never throws and never stops: a wrong type or value becomes a fault and reads as its fallback.
//   * An object and those inside it share one list of faults, of which the first is kept; the reader asks for it at the
//     end, and uses nothing that it has read before that.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::files {

using Json = nlohmann::json;

class JsonObject {
 public:
  /// @return kFormat when the text is no JSON object: what it looks like, where it breaks, nested deeper than 64.
  [[nodiscard]] static Result<JsonObject> parse(std::string_view text, std::string_view where);

  /// Whether there is a value other than null at `key`.
  [[nodiscard]] bool contains(const std::string& key) const { return find(key) != nullptr; }
  /// The object at `key`; an empty one when it is missing, a fault when it is something else.
  [[nodiscard]] JsonObject object(const std::string& key);
  /// A whole number within [least, most], be it written 3 or 3.0.
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t least,
                                     std::int64_t most);
  /// As integer(), a fault when it is missing.
  [[nodiscard]] std::int64_t required_integer(const std::string& key, std::int64_t least, std::int64_t most);
  [[nodiscard]] double number(const std::string& key, double fallback, double least, double most);
  [[nodiscard]] bool boolean(const std::string& key, bool fallback);
  [[nodiscard]] std::string text(const std::string& key, std::string fallback);
  /// A list of 1..64 integers, each within [least, most].
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& key, std::int64_t least, std::int64_t most);
  [[nodiscard]] std::vector<std::vector<std::int64_t>> integer_lists(const std::string& key, std::int64_t least,
                                                                     std::int64_t most);

  /// For keys that are data: the members, and readers of a value in them, which `key` names in messages.
  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] std::int64_t read_integer(const Json& value, const std::string& key, std::int64_t fallback,
                                          std::int64_t least, std::int64_t most);
  [[nodiscard]] std::vector<std::int64_t> read_integers(const Json& list, const std::string& key, std::int64_t least,
                                                        std::int64_t most);
  [[nodiscard]] std::vector<std::string> read_texts(const Json& list, const std::string& key);

  /// "FILE: KEY TEXT".
  void fail(const std::string& key, const std::string& text);
  /// "FILE: KEY must be WANTED, found FOUND".
  void fail(const std::string& key, const std::string& wanted, const Json& found);
  /// The first fault of the file so far, as kFormat.
  [[nodiscard]] Result<void> result() const;

 private:
  struct Document {
    Json root;
    const Json empty = Json::object();  // what a missing object reads as
    std::string where;
    std::string fault;
  };

  JsonObject(std::shared_ptr<Document> document, const Json& value, std::string path)
      : document_(std::move(document)), value_(&value), path_(std::move(path)) {}
  [[nodiscard]] const Json* find(const std::string& key) const;

  std::shared_ptr<Document> document_;
  const Json* value_;  // in document_
  std::string path_;   // "audio." inside the object "audio"
};

}  // namespace timbre::files
