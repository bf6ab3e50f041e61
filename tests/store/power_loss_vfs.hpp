// SPDX-License-Identifier: MIT
//
// A disk for tests that loses power: an SQLite VFS over the system's, in which what was not synced may be gone.
//
// Files are written as they are, and beside that their synced content and the writes since are remembered. cut() makes
// every later call fail; restore() then writes each file as it may be found after the loss: synced content, and of the
// writes since any of them. The shared memory of the log is gone.
#pragma once

#include <cstdint>
#include <string>

namespace timbre::store::test {

/// One at a time in a process; no threads.
class PowerLossVfs {
 public:
  PowerLossVfs();
  PowerLossVfs(const PowerLossVfs&) = delete;
  PowerLossVfs& operator=(const PowerLossVfs&) = delete;
  ~PowerLossVfs();

  [[nodiscard]] static const char* name() { return "power-loss"; }
  /// The power goes at the so many-th write from now.
  void cut_after(std::uint64_t writes);
  [[nodiscard]] bool is_cut() const;
  [[nodiscard]] std::uint64_t lost_writes() const;
  /// When all files are closed. @param seed  chooses which writes are there.
  void restore(std::uint64_t seed);
};

}  // namespace timbre::store::test
