// SPDX-License-Identifier: MIT
//
// Writes 16-bit mono WAV or raw samples, as they come.
//
// Invariants
//   * A pipe gets a header with sizes of 0xFFFFFFFF, as streaming readers expect; a file gets its true sizes at
//   finish().
//   * A named file that did not reach finish() is removed, also by Ctrl-C: nothing half-done stays behind. Special
//   files
//     stay. What a pipe or a redirection has got, it keeps.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unfinished_file.hpp"

namespace timbre::tools {

class WavWriter {
 public:
  /// @param path  nothing: standard output. Throws std::runtime_error, as the other members do, naming the file.
  WavWriter(const std::optional<std::string>& path, std::uint32_t sample_rate_hz, bool raw);
  ~WavWriter();
  WavWriter(const WavWriter&) = delete;
  WavWriter& operator=(const WavWriter&) = delete;

  /// Appends samples of [-1, 1] and hands them to the system, so that a player at the other end can begin.
  void write(std::span<const float> samples);
  /// Completes and closes the file.
  void finish();

 private:
  void write_header(std::uint32_t data_bytes);
  void write_bytes(const void* bytes, std::size_t size);
  [[noreturn]] void fail(const char* what);

  std::string name_;
  std::FILE* file_ = nullptr;
  std::optional<UnfinishedFile> unfinished_;  // a named, regular file: seekable, and ours to remove
  bool raw_;
  std::uint32_t sample_rate_hz_;
  std::uint64_t data_bytes_ = 0;
  std::vector<unsigned char> buffer_;
};

}  // namespace timbre::tools
