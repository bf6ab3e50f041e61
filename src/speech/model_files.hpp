// SPDX-License-Identifier: MIT
//
// ModelFiles: the parts of a model as bytes, whether they came from disk or from the host's memory.
//
// Invariants
//   * Every part has a name that is unique in the set: the last component of its path, or the name that the host gave.
//   * Bytes stay valid and unchanged while the ModelFiles lives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace timbre::speech {

/// One part. `where` is what messages call it: its path, or "NAME (in memory)".
struct ModelFile {
  std::string name;
  std::string where;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive; null when the host does

  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

struct ModelFiles {
  std::vector<ModelFile> files;
  std::string directory;  ///< folder of the main file, for external data; empty when it came from memory

  /// The part of this name, or null.
  [[nodiscard]] const ModelFile* find(std::string_view name) const {
    for (const ModelFile& file : files) {
      if (file.name == name) return &file;
    }
    return nullptr;
  }
  /// The first part whose name ends so, or null.
  [[nodiscard]] const ModelFile* find_suffix(std::string_view suffix) const {
    for (const ModelFile& file : files) {
      if (file.name.ends_with(suffix)) return &file;
    }
    return nullptr;
  }
};

}  // namespace timbre::speech
