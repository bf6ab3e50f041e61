// SPDX-License-Identifier: MIT
//
// What every Device keeps, as clauses that run on any of them. A device joins with one file that makes it and calls
// check_contract(). Each clause gets a device of its own, which ends it with no page handed out and no complaint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "timbre/device/device.hpp"
#include "timbre/device/device_script.hpp"

namespace timbre::device {

struct DeviceUnderTest {
  std::unique_ptr<Device> device;
  std::vector<Stream> streams;                // at least 4, each of its own
  DeviceScript* script = nullptr;             // null: failures cannot be scripted, and those clauses are left out
  std::function<std::uint64_t()> live_pages;  // handed out now
  std::function<std::uint64_t()> complaints;  // rules that the test itself broke, where the device tells
};

/// A scripted device of ours, with four streams; who makes it says how it complains.
template <typename Target>
DeviceUnderTest under_test(std::unique_ptr<Target> made) {
  Target& target = *made;
  DeviceUnderTest test;
  test.device = std::move(made);
  for (std::uintptr_t i = 1; i <= 4; ++i) test.streams.push_back(Stream{i});
  test.script = &target.script();
  test.live_pages = [&target] { return target.usage().live_pages; };
  return test;
}

/// Makes a device with room for so many pages.
using MakeDevice = std::function<DeviceUnderTest(std::size_t page_count)>;

/// Runs all clauses, each as a section of the test that calls it.
void check_contract(const MakeDevice& make);

}  // namespace timbre::device
