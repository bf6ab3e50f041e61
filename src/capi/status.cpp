// SPDX-License-Identifier: MIT
//
// c/status.h and c/version.h: names of the codes, the last error of a thread, the version.
#include "timbre/c/status.h"

#include <utility>

#include "capi/guard.hpp"
#include "timbre/c/version.h"

#define TIMBRE_TEXT_(x) #x
#define TIMBRE_TEXT(x) TIMBRE_TEXT_(x)

namespace timbre::capi {
namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

constexpr bool same(Status status, timbre_status code) { return static_cast<timbre_status>(status) == code; }
static_assert(same(Status::kOk, TIMBRE_OK) && same(Status::kDone, TIMBRE_DONE) &&
              same(Status::kPending, TIMBRE_PENDING));
static_assert(same(Status::kInvalidArgument, TIMBRE_ERR_INVALID_ARGUMENT));
static_assert(same(Status::kOutOfMemory, TIMBRE_ERR_OUT_OF_MEMORY));
static_assert(same(Status::kNotFound, TIMBRE_ERR_NOT_FOUND) && same(Status::kIo, TIMBRE_ERR_IO));
static_assert(same(Status::kFormat, TIMBRE_ERR_FORMAT) && same(Status::kUnsupported, TIMBRE_ERR_UNSUPPORTED));
static_assert(same(Status::kMismatch, TIMBRE_ERR_MISMATCH) && same(Status::kIncompatible, TIMBRE_ERR_INCOMPATIBLE));
static_assert(same(Status::kNoDevice, TIMBRE_ERR_NO_DEVICE) && same(Status::kCancelled, TIMBRE_ERR_CANCELLED));
static_assert(same(Status::kTimeout, TIMBRE_ERR_TIMEOUT) && same(Status::kClosed, TIMBRE_ERR_CLOSED));
static_assert(same(Status::kForked, TIMBRE_ERR_FORKED) && same(Status::kInvalidToken, TIMBRE_ERR_INVALID_TOKEN));
static_assert(same(Status::kInternal, TIMBRE_ERR_INTERNAL) && same(Status::kConflict, TIMBRE_ERR_CONFLICT));
static_assert(same(Status::kBudget, TIMBRE_ERR_BUDGET));

}  // namespace

timbre_status fail(Status status, std::string message) noexcept {
  last_error() = std::move(message);
  return static_cast<timbre_status>(status);
}

}  // namespace timbre::capi

extern "C" {

const char* timbre_status_name(timbre_status status) {
#define TIMBRE_NAME(code) \
  case code:              \
    return #code
  switch (status) {
    TIMBRE_NAME(TIMBRE_OK);
    TIMBRE_NAME(TIMBRE_DONE);
    TIMBRE_NAME(TIMBRE_PENDING);
    TIMBRE_NAME(TIMBRE_ERR_INVALID_ARGUMENT);
    TIMBRE_NAME(TIMBRE_ERR_OUT_OF_MEMORY);
    TIMBRE_NAME(TIMBRE_ERR_NOT_FOUND);
    TIMBRE_NAME(TIMBRE_ERR_IO);
    TIMBRE_NAME(TIMBRE_ERR_FORMAT);
    TIMBRE_NAME(TIMBRE_ERR_UNSUPPORTED);
    TIMBRE_NAME(TIMBRE_ERR_MISMATCH);
    TIMBRE_NAME(TIMBRE_ERR_INCOMPATIBLE);
    TIMBRE_NAME(TIMBRE_ERR_NO_DEVICE);
    TIMBRE_NAME(TIMBRE_ERR_CANCELLED);
    TIMBRE_NAME(TIMBRE_ERR_TIMEOUT);
    TIMBRE_NAME(TIMBRE_ERR_CLOSED);
    TIMBRE_NAME(TIMBRE_ERR_FORKED);
    TIMBRE_NAME(TIMBRE_ERR_INVALID_TOKEN);
    TIMBRE_NAME(TIMBRE_ERR_INTERNAL);
    TIMBRE_NAME(TIMBRE_ERR_CONFLICT);
    TIMBRE_NAME(TIMBRE_ERR_BUDGET);
    default:
      return "TIMBRE_UNKNOWN_STATUS";
  }
#undef TIMBRE_NAME
}

const char* timbre_last_error(void) { return timbre::capi::last_error().c_str(); }

const char* timbre_version(uint32_t* out_major, uint32_t* out_minor, uint32_t* out_patch) {
  if (out_major != nullptr) *out_major = TIMBRE_VERSION_MAJOR;
  if (out_minor != nullptr) *out_minor = TIMBRE_VERSION_MINOR;
  if (out_patch != nullptr) *out_patch = TIMBRE_VERSION_PATCH;
  return TIMBRE_TEXT(TIMBRE_VERSION_MAJOR) "." TIMBRE_TEXT(TIMBRE_VERSION_MINOR) "." TIMBRE_TEXT(TIMBRE_VERSION_PATCH);
}

}  // extern "C"
