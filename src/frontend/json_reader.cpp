// SPDX-License-Identifier: MIT
#include "frontend/json_reader.hpp"

#include <limits>

namespace timbre::frontend {
namespace {

std::string what_it_looks_like(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.starts_with("version https://git-lfs")) return "it is a Git LFS pointer, not the file itself";
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '<') return "it looks like HTML";
  return "";
}

std::string in_file(std::string_view where, std::string_view rest) {
  return std::string(where) + ": " + std::string(rest);
}

}  // namespace

Result<Json> parse_json_object(std::string_view text, std::string_view where) {
  try {
    Json json = Json::parse(text.begin(), text.end());
    if (!json.is_object()) return Error{Status::kFormat, in_file(where, "a JSON object was expected")};
    return json;
  } catch (const Json::parse_error& error) {
    std::string message = in_file(where, "not JSON at byte " + std::to_string(error.byte));
    if (const std::string look = what_it_looks_like(text); !look.empty()) message += ": " + look;
    return Error{Status::kFormat, std::move(message)};
  } catch (const Json::exception& error) {
    return Error{Status::kFormat, in_file(where, error.what())};
  }
}

Error wrong_type(std::string_view where, std::string_view key, std::string_view wanted, const Json& found) {
  return Error{Status::kFormat, in_file(where, std::string(key) + " must be " + std::string(wanted) + ", found " +
                                                   std::string(found.type_name()))};
}

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<void> read_string(const Json& object, const char* key, std::string_view where, std::string& out) {
  const Json* value = member(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) return wrong_type(where, key, "a string", *value);
  out = value->get_ref<const std::string&>();
  return {};
}

Result<void> read_bool(const Json& object, const char* key, std::string_view where, bool& out) {
  const Json* value = member(object, key);
  if (value == nullptr) return {};
  if (!value->is_boolean()) return wrong_type(where, key, "true or false", *value);
  out = value->get<bool>();
  return {};
}

Result<std::int32_t> read_id(const Json& value, std::string_view where, std::string_view key) {
  if (!value.is_number_integer()) return wrong_type(where, key, "an id (a whole number)", value);
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  if (value.is_number_unsigned() ? value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMax)
                                 : value.get<std::int64_t>() < 0) {
    return Error{Status::kFormat, in_file(where, std::string(key) + " has the id " + value.dump() +
                                                     ", which is not in 0.." + std::to_string(kMax))};
  }
  return value.get<std::int32_t>();
}

}  // namespace timbre::frontend
