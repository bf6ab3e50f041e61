// SPDX-License-Identifier: MIT
#include "files/json_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "files/disguise.hpp"

namespace timbre::files {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxList = 64;

/// A number as it stands, of anything else the kind.
std::string described(const Json& value) { return value.is_number() ? value.dump() : value.type_name(); }

}  // namespace

Result<JsonObject> JsonObject::parse(std::string_view text, std::string_view where) {
  auto fail = [&](std::string_view reason) { return Error{Status::kFormat, fmt::format("{}: {}", where, reason)}; };
  if (const auto other = disguise(text, "JSON"); !other.empty()) return fail(other);
  bool deep = false;
  auto watch = [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    deep = deep || depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  auto document = std::make_shared<Document>();
  document->where = where;
  std::string fault;
  try {
    document->root = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    fault = fmt::format("not JSON at byte {} of {} (cut or damaged?)", std::min(error.byte, text.size()), text.size());
  } catch (const Json::exception& error) {
    fault = fmt::format("not JSON that can be read: {}", error.what());
  }
  if (deep) return fail(fmt::format("JSON nested deeper than {}", kMaxDepth));
  if (!fault.empty()) return fail(fault);
  if (!document->root.is_object()) {
    return fail(fmt::format("a JSON object was expected, found {}", document->root.type_name()));
  }
  const Json& root = document->root;
  return JsonObject(std::move(document), root, "");
}

const Json* JsonObject::find(const std::string& key) const {
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::fail(const std::string& key, const std::string& text) {
  if (document_->fault.empty()) document_->fault = fmt::format("{}: {}{} {}", document_->where, path_, key, text);
}

void JsonObject::fail(const std::string& key, const std::string& wanted, const Json& found) {
  fail(key, fmt::format("must be {}, found {}", wanted, described(found)));
}

Result<void> JsonObject::result() const {
  if (!document_->fault.empty()) return Error{Status::kFormat, document_->fault};
  return {};
}

JsonObject JsonObject::object(const std::string& key) {
  const Json* found = find(key);
  if (found != nullptr && !found->is_object()) {
    fail(key, "an object", *found);
    found = nullptr;
  }
  return {document_, found == nullptr ? document_->empty : *found, path_ + key + "."};
}

std::int64_t JsonObject::integer(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t most) {
  const Json* found = find(key);
  return found == nullptr ? fallback : read_integer(*found, key, fallback, least, most);
}

std::int64_t JsonObject::required_integer(const std::string& key, std::int64_t least, std::int64_t most) {
  if (!contains(key)) fail(key, "is missing");
  return integer(key, least, least, most);
}

double JsonObject::number(const std::string& key, double fallback, double least, double most) {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  const double value = found->is_number() ? found->get<double>() : std::nan("");
  if (value >= least && value <= most) return value;
  fail(key, fmt::format("a number of {:g}..{:g}", least, most), *found);
  return fallback;
}

bool JsonObject::boolean(const std::string& key, bool fallback) {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (found->is_boolean()) return found->get<bool>();
  fail(key, "true or false", *found);
  return fallback;
}

std::string JsonObject::text(const std::string& key, std::string fallback) {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (found->is_string()) return found->get<std::string>();
  fail(key, "a string", *found);
  return fallback;
}

std::vector<std::int64_t> JsonObject::integers(const std::string& key, std::int64_t least, std::int64_t most) {
  if (const Json* found = find(key)) return read_integers(*found, key, least, most);
  fail(key, "is missing");
  return {};
}

std::vector<std::vector<std::int64_t>> JsonObject::integer_lists(const std::string& key, std::int64_t least,
                                                                 std::int64_t most) {
  const Json* found = find(key);
  if (found == nullptr || !found->is_array() || found->empty() || found->size() > kMaxList) {
    fail(key, fmt::format("must be a list of 1..{} lists", kMaxList));
    return {};
  }
  std::vector<std::vector<std::int64_t>> out;
  for (const Json& each : *found) out.push_back(read_integers(each, key, least, most));
  return out;
}

std::int64_t JsonObject::read_integer(const Json& value, const std::string& key, std::int64_t fallback,
                                      std::int64_t least, std::int64_t most) {
  const double real = value.is_number() ? value.get<double>() : std::nan("");
  if (real == std::floor(real) && real >= static_cast<double>(least) && real <= static_cast<double>(most)) {
    return static_cast<std::int64_t>(real);
  }
  fail(key, fmt::format("a whole number of {}..{}", least, most), value);
  return fallback;
}

std::vector<std::int64_t> JsonObject::read_integers(const Json& list, const std::string& key, std::int64_t least,
                                                    std::int64_t most) {
  if (!list.is_array() || list.empty() || list.size() > kMaxList) {
    fail(key, fmt::format("must be a list of 1..{} whole numbers", kMaxList));
    return {};
  }
  std::vector<std::int64_t> out;
  for (const Json& each : list) out.push_back(read_integer(each, key, least, least, most));
  return out;
}

std::vector<std::string> JsonObject::read_texts(const Json& list, const std::string& key) {
  if (!list.is_array()) {
    fail(key, "a list of strings", list);
    return {};
  }
  std::vector<std::string> out;
  for (const Json& each : list) {
    if (each.is_string()) {
      out.push_back(each.get<std::string>());
    } else {
      fail(key, "a list of strings", each);
    }
  }
  return out;
}

}  // namespace timbre::files
