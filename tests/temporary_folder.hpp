// SPDX-License-Identifier: MIT
//
// An empty folder for one test, removed with all that is in it.
#pragma once

#include <stdlib.h>  // mkdtemp is POSIX's, so <cstdlib> need not have it

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace timbre::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "timbre-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }

  /// Each makes an entry and gives its path.
  std::string write(const char* name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }
  /// So many zeros, which take no room on the disk.
  std::string zeros(const char* name, std::uint64_t size_bytes) const {
    write(name, "");
    std::filesystem::resize_file(path_ / name, size_bytes);
    return *this / name;
  }
  std::string link(const char* name, const std::string& target) const {
    std::filesystem::create_symlink(target, path_ / name);
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace timbre::test
