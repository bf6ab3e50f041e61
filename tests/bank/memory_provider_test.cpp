// SPDX-License-Identifier: MIT
#include "bank/memory_provider.hpp"

#include <catch2/catch.hpp>

#include "bank/scripted_memory.hpp"
#include "timbre/device/host_device.hpp"

using timbre::Error;
using timbre::Status;
using timbre::bank::DeviceMemory;
using timbre::bank::ScriptedMemory;
using timbre::device::MemoryReading;

TEST_CASE("a device's memory is told as the device tells it", "[bank][memory]") {
  auto device = timbre::device::HostDevice::create({.capacity_bytes = 1 << 20});
  REQUIRE(device);
  DeviceMemory memory(**device);
  const auto first = memory.read();
  REQUIRE(first);
  CHECK(first->free_bytes == 1 << 20);
  CHECK(first->total_bytes == 1 << 20);
  const auto run = (*device)->allocate(2);
  REQUIRE(run);
  CHECK(memory.read()->free_bytes == (1 << 20) - 2 * (*device)->properties().page_bytes);
  (*device)->free(*run, 2);
  (*device)->script().readings.push(Error{Status::kIo, "lost"});
  CHECK(memory.read().error().message == "lost");
}

TEST_CASE("a scripted memory answers what was pushed, then what stands, and fails without a script", "[bank][memory]") {
  ScriptedMemory memory;
  CHECK(memory.read().error().status == Status::kIo);
  memory.set(MemoryReading{5, 10});
  memory.readings().push(MemoryReading{1, 10});
  memory.readings().push(Error{Status::kUnsupported, "no"});
  CHECK(memory.read()->free_bytes == 1);
  CHECK(memory.read().error().status == Status::kUnsupported);
  CHECK(memory.read()->free_bytes == 5);
  CHECK(memory.read()->free_bytes == 5);
}
