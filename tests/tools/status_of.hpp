// SPDX-License-Identifier: MIT
//
// What a call of the C++ wrapper ended with.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "timbre/timbre.hpp"

namespace timbre::test {

/// The status of the exception that `call` throws, which has a message; TIMBRE_OK without one.
template <typename Call>
timbre_status status_of(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    CHECK(std::string(error.what()).size() > 5);
    return error.status();
  }
  return TIMBRE_OK;
}

}  // namespace timbre::test
