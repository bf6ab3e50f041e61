// SPDX-License-Identifier: MIT
#include "vits/json_object.hpp"

#include <cmath>
#include <utility>

namespace timbre::vits {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxList = 64;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Result<JsonObject> JsonObject::parse(std::string_view text, std::string_view where) {
  auto fail = [&](std::string_view reason) {
    return Error{Status::kFormat, std::string(where) + ": " + std::string(reason)};
  };
  if (is_blank(text)) return fail("the file is empty");
  if (text.starts_with("<")) return fail("this is an HTML or XML page, not JSON");
  if (text.starts_with("version https://git-lfs")) return fail("this is a Git LFS pointer, not the file itself");
  bool deep = false;
  auto watch = [&](int depth, nlohmann::json::parse_event_t /*event*/, nlohmann::json& /*value*/) {
    deep = deep || depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  nlohmann::json value = nlohmann::json::parse(text, watch, false);
  if (deep) return fail("JSON nested deeper than 64");
  if (value.is_discarded()) return fail("this is not valid JSON (cut or damaged?)");
  if (!value.is_object()) return fail("an object is wanted at the top of the JSON");
  return JsonObject(std::move(value), std::string(where), "");
}

void JsonObject::fail(const std::string& key, const std::string& text) {
  if (fault_.empty()) fault_ = where_ + ": \"" + path_ + key + "\" " + text;
}

Result<void> JsonObject::result() const {
  if (!fault_.empty()) return Error{Status::kFormat, fault_};
  return {};
}

JsonObject JsonObject::object(const std::string& key) {
  if (contains(key) && !value_[key].is_object()) fail(key, "must be an object");
  const bool usable = contains(key) && value_[key].is_object();
  return {usable ? value_[key] : nlohmann::json::object(), where_, path_ + key + "."};
}

std::int64_t JsonObject::integer(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t most) {
  if (!contains(key)) return fallback;
  const nlohmann::json& value = value_[key];
  const std::string range = " of " + std::to_string(least) + ".." + std::to_string(most);
  double real = 0;
  if (value.is_number()) real = value.get<double>();
  if (!value.is_number() || real != std::floor(real) || real < static_cast<double>(least) ||
      real > static_cast<double>(most)) {
    fail(key, "must be a whole number" + range);
    return fallback;
  }
  return static_cast<std::int64_t>(real);
}

std::int64_t JsonObject::required_integer(const std::string& key, std::int64_t least, std::int64_t most) {
  if (!contains(key)) fail(key, "is missing");
  return integer(key, least, least, most);
}

double JsonObject::number(const std::string& key, double fallback, double least, double most) {
  if (!contains(key)) return fallback;
  const double value = value_[key].is_number() ? value_[key].get<double>() : std::nan("");
  if (!(value >= least && value <= most)) {
    fail(key, "must be a number of " + std::to_string(least) + ".." + std::to_string(most));
    return fallback;
  }
  return value;
}

bool JsonObject::boolean(const std::string& key, bool fallback) {
  if (!contains(key)) return fallback;
  if (!value_[key].is_boolean()) {
    fail(key, "must be true or false");
    return fallback;
  }
  return value_[key].get<bool>();
}

std::string JsonObject::text(const std::string& key, std::string fallback) {
  if (!contains(key)) return fallback;
  if (!value_[key].is_string()) {
    fail(key, "must be a string");
    return fallback;
  }
  return value_[key].get<std::string>();
}

std::vector<std::int64_t> JsonObject::read_list(const nlohmann::json& list, const std::string& key, std::int64_t least,
                                                std::int64_t most) {
  std::vector<std::int64_t> out;
  if (!list.is_array() || list.empty() || list.size() > kMaxList) {
    fail(key, "must be a list of 1..64 whole numbers");
    return {};
  }
  for (const nlohmann::json& each : list) {
    if (!each.is_number_integer() || each.get<double>() < static_cast<double>(least) ||
        each.get<double>() > static_cast<double>(most)) {
      fail(key, "must hold whole numbers of " + std::to_string(least) + ".." + std::to_string(most));
      return {};
    }
    out.push_back(each.get<std::int64_t>());
  }
  return out;
}

std::vector<std::int64_t> JsonObject::integers(const std::string& key, std::int64_t least, std::int64_t most) {
  if (!contains(key)) {
    fail(key, "is missing");
    return {};
  }
  return read_list(value_[key], key, least, most);
}

std::vector<std::vector<std::int64_t>> JsonObject::integer_lists(const std::string& key, std::int64_t least,
                                                                 std::int64_t most) {
  if (!contains(key) || !value_[key].is_array() || value_[key].empty() || value_[key].size() > kMaxList) {
    fail(key, "must be a list of 1..64 lists");
    return {};
  }
  std::vector<std::vector<std::int64_t>> out;
  for (const nlohmann::json& each : value_[key]) out.push_back(read_list(each, key, least, most));
  return out;
}

}  // namespace timbre::vits
