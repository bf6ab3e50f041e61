// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <utility>

#include "device_contract.hpp"
#include "timbre/device/delayed_device.hpp"

namespace timbre::device {
namespace {

DeviceUnderTest delayed_under_test(std::size_t page_count, bool maps_pages, std::uint64_t seed) {
  DelayedDeviceOptions options;
  options.memory.capacity_bytes = page_count * options.memory.page_bytes;
  options.memory.maps_pages = maps_pages;
  options.seed = seed;
  auto made = DelayedDevice::create(options);
  DelayedDevice& delayed = **made;
  DeviceUnderTest test = under_test(std::move(*made));
  test.complaints = [&delayed] {
    for (const Violation& violation : delayed.violations()) UNSCOPED_INFO(violation.text);
    return delayed.violation_count();
  };
  return test;
}

TEST_CASE("late memory in mapped pages keeps the contract of a device", "[device]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  check_contract([seed](std::size_t page_count) { return delayed_under_test(page_count, true, seed); });
}

TEST_CASE("late memory in one arena keeps the contract of a device", "[device]") {
  check_contract([](std::size_t page_count) { return delayed_under_test(page_count, false, 4); });
}

}  // namespace
}  // namespace timbre::device
