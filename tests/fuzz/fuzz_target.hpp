// SPDX-License-Identifier: MIT
//
// What the fuzz targets share: libFuzzer's entry point and the promises that every input must keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "timbre/core/result.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace timbre::test {

/// Ends the run, with the input, where a promise is broken.
inline void require(bool held) {
  if (!held) std::abort();
}

/// Whether there is a value; an error must have a message.
template <typename T>
bool succeeded(const Result<T>& result) {
  if (result.ok()) return true;
  require(!result.error().message.empty());
  return false;
}

}  // namespace timbre::test
