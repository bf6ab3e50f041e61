// SPDX-License-Identifier: MIT
//
// JSON for the front ends: nlohmann-json behind Result, with messages that name the file and the key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "timbre/core/result.hpp"

namespace timbre::frontend {

using Json = nlohmann::json;

/// The longest symbol of a map, and the most ids of one symbol, that are taken for real.
inline constexpr std::size_t kMaxSymbolBytes = 256;
inline constexpr std::size_t kMaxSymbolIds = 64;

/// Parses an object. kFormat tells what the bytes look like when they are no JSON.
Result<Json> parse_json_object(std::string_view text, std::string_view where);

/// "FILE: KEY must be WANTED, found FOUND" as kFormat.
Error wrong_type(std::string_view where, std::string_view key, std::string_view wanted, const Json& found);

/// A member of an object: null when it is missing or null.
const Json* member(const Json& object, const char* key);

/// Takes over a string or bool if the member is there; kFormat when it has another type.
Result<void> read_string(const Json& object, const char* key, std::string_view where, std::string& out);
Result<void> read_bool(const Json& object, const char* key, std::string_view where, bool& out);

/// A token id. `key` is for messages.
Result<std::int32_t> read_id(const Json& value, std::string_view where, std::string_view key);

}  // namespace timbre::frontend
