// SPDX-License-Identifier: MIT
//
// What is shared by all engines of a process: whether this is a forked child, and the stop at exit.
//
// Invariants
//   * After fork() the child answers kForked to every call and touches nothing: no lock, no thread, no memory.
//   * At exit the workers of all live engines are stopped before LibTorch's own exit handlers run.
//   * Nothing here is ever destroyed, so that it can be used during exit.
#pragma once

#include <functional>
#include <memory>

namespace timbre::capi {

/// Whether this process was forked from one that had made an engine.
[[nodiscard]] bool forked() noexcept;

/// Something to stop at exit.
class StopAtExit {
 public:
  virtual ~StopAtExit() = default;
  virtual void stop_at_exit() noexcept = 0;
};

/// Registers an engine; forgotten when it is destroyed. Installs the fork and exit handlers at the first call.
void stop_at_exit(const std::shared_ptr<StopAtExit>& engine);

/// To be called after a library was loaded, or made its process-wide objects, that must outlive our stop: at exit()
/// what came last goes first.
void renew_exit_handler();

}  // namespace timbre::capi
