// SPDX-License-Identifier: MIT
//
// JsonObject: a configuration file's object whose faults name the file and the key.
//
// Invariants
//   * Reading never throws: a wrong type or value becomes the first fault, which the reader asks for at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::vits {

class JsonObject {
 public:
  /// @return kFormat when the text is no JSON object (cut, HTML, nested deeper than 64).
  [[nodiscard]] static Result<JsonObject> parse(std::string_view text, std::string_view where);

  [[nodiscard]] bool contains(const std::string& key) const { return value_.contains(key) && !value_[key].is_null(); }
  /// The object at `key`; an empty one when it is missing, a fault when it is something else.
  [[nodiscard]] JsonObject object(const std::string& key);
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
  [[nodiscard]] const nlohmann::json& value() const { return value_; }

  void fail(const std::string& key, const std::string& text);
  /// The first fault of this object.
  [[nodiscard]] Result<void> result() const;

 private:
  JsonObject(nlohmann::json value, std::string where, std::string path)
      : value_(std::move(value)), where_(std::move(where)), path_(std::move(path)) {}
  std::vector<std::int64_t> read_list(const nlohmann::json& list, const std::string& key, std::int64_t least,
                                      std::int64_t most);

  nlohmann::json value_;
  std::string where_;
  std::string path_;  ///< "audio." inside the object "audio"
  std::string fault_;
};

}  // namespace timbre::vits
