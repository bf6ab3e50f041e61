// SPDX-License-Identifier: MIT
//
// What every Device keeps, as clauses that run on any of them. A device joins with one file that makes it and calls
// check_contract(). Each clause gets a device of its own, which ends it with no page handed out and no complaint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

/// Makes a device with room for so many pages.
using MakeDevice = std::function<DeviceUnderTest(std::size_t page_count)>;

/// Runs all clauses, each as a section of the test that calls it.
void check_contract(const MakeDevice& make);

}  // namespace timbre::device
