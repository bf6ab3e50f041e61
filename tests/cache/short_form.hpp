// SPDX-License-Identifier: MIT
//
// How much of a long test is run: all of it in an optimised build or with TIMBRE_TEST_FULL, a stated part under
// sanitizers.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <iostream>

namespace timbre::cache {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// `all`, or `part` without TIMBRE_TEST_FULL; says so when it is a part.
inline std::size_t long_test(const char* what, std::size_t all, std::size_t part) {
  if (std::getenv("TIMBRE_TEST_FULL") != nullptr) return all;
  std::cout << "short form: " << part << " of " << all << ' ' << what << "; TIMBRE_TEST_FULL=1 runs all\n";
  return part;
}

/// `all`, or `part` under a sanitizer without TIMBRE_TEST_FULL; says so when it is a part.
inline std::size_t short_form(const char* what, std::size_t all, std::size_t part) {
  return kSanitized ? long_test(what, all, part) : all;
}

}  // namespace timbre::cache
