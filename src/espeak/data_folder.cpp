// SPDX-License-Identifier: MIT
#include "espeak/data_folder.hpp"

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

namespace timbre::espeak {
namespace {

namespace fs = std::filesystem;

// espeak-ng keeps its path in 160 bytes and cuts a longer one without a word.
constexpr std::size_t kLongestPath = 140;

bool complete(const fs::path& folder) {
  constexpr std::array kFiles = {"phontab", "phonindex", "phondata", "intonations"};
  std::error_code error;
  for (const char* file : kFiles) {
    const auto size = fs::file_size(folder / file, error);
    if (error || size == 0) return false;
  }
  return true;
}

std::vector<fs::path> usual_places(const EspeakLibrary& library) {
  std::vector<fs::path> places;
  if (!library.path.empty()) {
    std::error_code error;
    const fs::path real = fs::canonical(library.path, error);
    const fs::path beside = (error ? fs::path(library.path) : real).parent_path();
    places.push_back(beside / "espeak-ng-data");
    places.push_back(beside.parent_path() / "share" / "espeak-ng-data");
    places.push_back(beside.parent_path().parent_path() / "share" / "espeak-ng-data");
  }
  places.emplace_back("/usr/share/espeak-ng-data");
  places.emplace_back("/usr/local/share/espeak-ng-data");
  return places;
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

Result<std::string> find_data_folder(const EspeakLibrary& library, const char* asked) {
  std::vector<fs::path> places;
  if (asked != nullptr) {
    if (std::string_view(asked).size() > kLongestPath) {
      return Error{Status::kInvalidArgument,
                   "espeak-ng takes data folders of at most " + std::to_string(kLongestPath) + " bytes: " + asked};
    }
    places = {fs::path(asked) / "espeak-ng-data", fs::path(asked)};
  } else {
    library.initialize_path(nullptr);
    const char* known = nullptr;
    library.info(&known);
    if (known != nullptr && known[0] != '\0') places.emplace_back(known);
    for (auto& place : usual_places(library)) places.push_back(std::move(place));
  }
  std::string tried;
  for (const auto& place : places) {
    if (place.native().size() <= kLongestPath + sizeof("/espeak-ng-data") && complete(place)) return place.string();
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return Error{Status::kNotFound, "no espeak-ng data (phontab, phonindex, phondata, intonations) in any of: " + tried +
                                      " (Debian package espeak-ng-data)"};
}

}  // namespace timbre::espeak
