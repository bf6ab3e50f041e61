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
  HostDevice& host = **made;
  DeviceUnderTest test;
  test.device = std::move(*made);
  for (std::uintptr_t i = 1; i <= 4; ++i) test.streams.push_back(Stream{i});
  test.script = &host.script();
  test.live_pages = [&host] { return host.usage().live_pages; };
  test.complaints = [] { return std::uint64_t{0}; };
  return test;
}

}  // namespace timbre::device
