// SPDX-License-Identifier: MIT
//
// A failed call becomes an exception, on the caller's side only: nothing is thrown through the C ABI.
#pragma once

#include <stdexcept>
#include <string>

#include "timbre/timbre.h"

namespace timbre {

/// A failed call: its status, and what timbre_last_error() had to say.
class Exception : public std::runtime_error {
 public:
  Exception(timbre_status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  /// Negative: one of TIMBRE_ERR_*.
  [[nodiscard]] timbre_status status() const noexcept { return status_; }
  /// "TIMBRE_ERR_NOT_FOUND", for example.
  [[nodiscard]] const char* status_name() const noexcept { return timbre_status_name(status_); }

 private:
  timbre_status status_;
};

/// Passes OK, DONE and PENDING through and throws on errors. For hosts that call the C functions themselves.
inline timbre_status check(timbre_status status) {
  if (status < 0) throw Exception(status, timbre_last_error());
  return status;
}

/// A string as C wants it. A zero inside would name another voice, so it is an error here.
inline const char* c_string(const std::string& text) {
  if (text.find('\0') != std::string::npos) throw Exception(TIMBRE_ERR_INVALID_ARGUMENT, "a zero byte in: " + text);
  return text.c_str();
}

/// Version of the library that is loaded, "0.1.0".
inline std::string version() { return timbre_version(nullptr, nullptr, nullptr); }

}  // namespace timbre
