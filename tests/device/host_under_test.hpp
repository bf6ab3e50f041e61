// SPDX-License-Identifier: MIT
//
// A HostDevice for the contract of devices.
#pragma once

#include <utility>

#include "device_contract.hpp"
#include "timbre/device/host_device.hpp"

namespace timbre::device {

inline DeviceUnderTest host_under_test(std::size_t page_count, bool maps_pages) {
  HostDeviceOptions options;
  options.capacity_bytes = page_count * options.page_bytes;
  options.maps_pages = maps_pages;
  auto made = HostDevice::create(options);
  DeviceUnderTest test = under_test(std::move(*made));
  test.complaints = [] { return std::uint64_t{0}; };
  return test;
}

}  // namespace timbre::device
