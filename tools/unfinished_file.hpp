// SPDX-License-Identifier: MIT
//
// A file that is being written: gone again if that is not finished, be it that the user breaks off.
//
// Invariants
//   * While one lives, SIGINT, SIGTERM and SIGHUP remove the file and then end the program as they would have without
//     it: a shell sees 130 after Ctrl-C. What was ignored stays ignored.
//   * One at a time.
#pragma once

#include <string>

namespace timbre::tools {

class UnfinishedFile {
 public:
  /// The file exists and is ours to remove. A path that is too long for the system is no file's.
  explicit UnfinishedFile(std::string path);
  /// Removes the file, unless it is finished.
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  /// From now on the file stays.
  void finish();

 private:
  std::string path_;
  bool finished_ = false;
};

}  // namespace timbre::tools
