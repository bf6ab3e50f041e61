// SPDX-License-Identifier: MIT
//
// Status: the C ABI's codes as a C++ enumeration. The numbers are those of c/status.h; src/capi asserts that they
// agree.
#pragma once

#include <cstdint>

namespace timbre {

enum class Status : std::int32_t {
  kOk = 0,
  kDone = 1,
  kPending = 2,
  kInvalidArgument = -1,
  kOutOfMemory = -2,
  kNotFound = -3,
  kIo = -4,
  kFormat = -5,
  kUnsupported = -6,
  kMismatch = -7,
  kIncompatible = -8,
  kNoDevice = -9,
  kCancelled = -10,
  kTimeout = -11,
  kClosed = -12,
  kForked = -13,
  kInvalidToken = -14,
  kInternal = -15,
  kConflict = -16,
  kBudget = -17,
};

}  // namespace timbre
