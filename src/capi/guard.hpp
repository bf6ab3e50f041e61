// SPDX-License-Identifier: MIT
//
// The one guard of the C edge: every exported function runs its body through it.
//
// Invariants
//   * No exception leaves; a failure becomes a status, and its message is kept for timbre_last_error().
//   * In a forked child the body does not run at all.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "capi/process.hpp"
#include "timbre/c/status.h"
#include "timbre/core/result.hpp"

namespace timbre::capi {

/// Keeps the message for timbre_last_error() of this thread; never throws. @return the status as C has it.
timbre_status fail(Status status, std::string message) noexcept;
inline timbre_status fail(Error error) noexcept { return fail(error.status, std::move(error.message)); }

/// INVALID_ARGUMENT with a message.
inline Error invalid(std::string message) { return {Status::kInvalidArgument, std::move(message)}; }

/// Runs `body`, which returns Result<Status> (kOk or information) or Result<void>.
template <typename Body>
timbre_status guard(Body&& body) noexcept {
  if (forked()) return fail(Status::kForked, "this process was forked from one that uses timbre");
  try {
    auto result = body();
    if (!result) return fail(std::move(result).error());
    if constexpr (requires { result.value(); }) {
      return static_cast<timbre_status>(result.value());
    } else {
      return TIMBRE_OK;
    }
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return fail(Status::kInternal, error.what());
  } catch (...) {
    return fail(Status::kInternal, "unknown exception");
  }
}

}  // namespace timbre::capi
