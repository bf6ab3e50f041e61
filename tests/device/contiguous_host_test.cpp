// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "host_under_test.hpp"

TEST_CASE("host memory in one arena keeps the contract of a device", "[device]") {
  timbre::device::check_contract(
      [](std::size_t page_count) { return timbre::device::host_under_test(page_count, false); });
}
