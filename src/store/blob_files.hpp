// SPDX-License-Identifier: MIT
//
// BlobFiles: a folder of large records, each in a file that its content names.
//
// Invariants
//   * A file with a name of 64 hex digits is whole: it was synced under another name before it got this one, and is
//   never
//     written again. Equal records are one file.
//   * A file that is being written is locked by who writes it; the sweep leaves locked ones alone.
//   * Names come and go under the library's write lock only (docs/store.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"

namespace timbre::store {

/// BLAKE2b-256 of some bytes.
using BlobName = std::array<std::byte, 32>;
[[nodiscard]] BlobName blob_name(std::span<const std::byte> bytes);
[[nodiscard]] std::string hex_of(std::span<const std::byte> name);

/// Thread safety: all members from any thread, publish(), erase() and sweep() under the write lock.
class BlobFiles {
 public:
  /// A file that is written and synced, but has no name yet. Without one at its end it is gone.
  class Unnamed {
   public:
    Unnamed(Unnamed&& other) noexcept;
    Unnamed(const Unnamed&) = delete;
    Unnamed& operator=(const Unnamed&) = delete;
    ~Unnamed();
    [[nodiscard]] const BlobName& name() const { return name_; }

   private:
    friend class BlobFiles;
    Unnamed() = default;
    std::string path_;
    int descriptor_ = -1;
    BlobName name_{};
  };

  /// @param folder  made at the first write.
  explicit BlobFiles(std::string folder) : folder_(std::move(folder)) {}

  /// Error: kIo, with the file.
  [[nodiscard]] Result<Unnamed> write(std::span<const std::byte> bytes);
  /// Gives it its name, lastingly, whatever is there under it. kNotFound: a sweep has taken the file before it was
  /// locked.
  [[nodiscard]] Result<void> publish(Unnamed& file);
  /// Lastingly; a file that is not there is no error.
  [[nodiscard]] Result<void> erase(std::span<const std::byte> name);

  /// The file's bytes, unchecked. Errors: kNotFound; kIo.
  [[nodiscard]] Result<std::vector<std::byte>> read(std::span<const std::byte> name) const;

  /// Erases the files of which `is_used` says no, and those whose writer is gone. @return how many.
  [[nodiscard]] Result<std::uint64_t> sweep(const std::function<Result<bool>(std::span<const std::byte>)>& is_used);

  [[nodiscard]] std::string path_of(std::span<const std::byte> name) const;
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  [[nodiscard]] Result<void> make_folder();
  [[nodiscard]] Result<void> sync_folder() const;

  std::string folder_;
};

}  // namespace timbre::store
