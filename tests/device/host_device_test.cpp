// SPDX-License-Identifier: MIT
#include "timbre/device/host_device.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "resident.hpp"

namespace timbre::device {
namespace {

constexpr std::size_t kPage = 64 * 1024;

std::unique_ptr<HostDevice> host(std::size_t page_count, bool maps_pages) {
  HostDeviceOptions options;
  options.capacity_bytes = page_count * kPage;
  options.maps_pages = maps_pages;
  auto made = HostDevice::create(options);
  REQUIRE(made);
  return std::move(*made);
}

TEST_CASE("freed pages leave the resident set, and a touch of them faults", "[device]") {
  const auto device = host(256, GENERATE(true, false));
  const auto run = device->allocate(256);
  REQUIRE(run);
  auto* const bytes = reinterpret_cast<unsigned char*>(*run);
  std::memset(bytes, 1, 256 * kPage);
  REQUIRE(resident_bytes(bytes, 256 * kPage) >= 256 * kPage);
  device->free(*run, 256);
  REQUIRE(resident_bytes(bytes, 256 * kPage) == 0);
}

TEST_CASE("giving back a part of many runs gives just that back", "[device]") {
  const auto device = host(64, GENERATE(true, false));
  std::vector<Address> runs;
  for (auto run = device->allocate(1); run; run = device->allocate(1)) {
    std::memset(reinterpret_cast<void*>(*run), 1, kPage);
    runs.push_back(*run);
  }
  REQUIRE(runs.size() == 64);
  const auto resident = [] {
    std::uint64_t total = 0;
    visit_mappings([&total](unsigned long, unsigned long, unsigned long bytes) { total += bytes; });
    return total;
  };
  const std::uint64_t before = resident();
  for (std::size_t i = 0; i < 64; i += 2) device->free(runs[i], 1);
  const std::uint64_t after = resident();
  REQUIRE(before >= after + 28 * kPage);  // 32 pages, less what the test itself has touched meanwhile
  for (std::size_t i = 1; i < 64; i += 2) {
    REQUIRE(reinterpret_cast<unsigned char*>(runs[i])[kPage - 1] == 1);
    device->free(runs[i], 1);
  }
}

TEST_CASE("usage counts pages, their peak and the longest free run", "[device]") {
  const auto device = host(16, false);
  const auto a = device->allocate(4);
  const auto b = device->allocate(4);
  const auto c = device->allocate(4);
  REQUIRE((a && b && c));
  device->free(*b, 4);
  HostUsage usage = device->usage();
  REQUIRE(usage.capacity_pages == 16);
  REQUIRE(usage.live_pages == 8);
  REQUIRE(usage.peak_pages == 12);
  REQUIRE(usage.largest_free_run_pages == 4);
  REQUIRE(device->allocate(5).error().message.find("lie apart") != std::string::npos);
  const auto d = device->allocate(3);
  REQUIRE(*d == *b);  // the lowest that is long enough
  device->free(*a, 4);
  device->free(*c, 4);
  REQUIRE(device->usage().largest_free_run_pages == 9);
  device->free(*d, 3);
  usage = device->usage();
  REQUIRE(usage.live_pages == 0);
  REQUIRE(usage.peak_pages == 12);
  REQUIRE(usage.largest_free_run_pages == 16);
}

TEST_CASE("a capacity that shrinks below what is handed out takes nothing away", "[device]") {
  const bool maps_pages = GENERATE(true, false);
  const auto device = host(8, maps_pages);
  const auto run = device->allocate(6);
  REQUIRE(run);
  REQUIRE(device->set_capacity(4 * kPage + 1));
  REQUIRE(device->usage().capacity_pages == 4);
  REQUIRE(device->usage().largest_free_run_pages == 0);
  REQUIRE(device->memory()->free_bytes == 0);
  REQUIRE(device->allocate(1).error().status == Status::kOutOfMemory);
  reinterpret_cast<unsigned char*>(*run)[6 * kPage - 1] = 1;
  device->free(*run, 6);
  REQUIRE(device->allocate(5).error().status == Status::kOutOfMemory);
  const auto again = device->allocate(4);
  REQUIRE(again);
  device->free(*again, 4);
  REQUIRE(device->set_capacity(8 * kPage));
  REQUIRE(device->set_capacity(9 * kPage).ok() == maps_pages);
  REQUIRE(device->set_capacity(0));
  REQUIRE(device->memory()->total_bytes == 0);
}

TEST_CASE("a device without room is one", "[device]") {
  const auto device = host(0, GENERATE(true, false));
  REQUIRE(device->allocate(1).error().status == Status::kOutOfMemory);
  REQUIRE(device->memory()->free_bytes == 0);
}

TEST_CASE("pages and rows that do not fit the system are refused by name", "[device]") {
  HostDeviceOptions options;
  options.name = "small";
  for (const std::size_t page_bytes : {std::size_t{0}, std::size_t{512}, 3 * kPage}) {
    options.page_bytes = page_bytes;
    const auto made = HostDevice::create(options);
    REQUIRE(made.error().status == Status::kInvalidArgument);
    REQUIRE(made.error().message.find("small: a page of " + std::to_string(page_bytes)) == 0);
  }
  options.page_bytes = kPage;
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{48}, kPage}) {
    options.row_alignment = alignment;
    REQUIRE(HostDevice::create(options).error().status == Status::kInvalidArgument);
  }
}

TEST_CASE("a plan of failures counts from the moment it is made", "[device]") {
  FailurePlan plan;
  REQUIRE_FALSE(plan.next_fails());
  plan.fail_at(1);
  plan.fail_at(3);
  std::string calls;
  for (int i = 0; i < 5; ++i) calls += plan.next_fails() ? 'x' : '.';
  REQUIRE(calls == "x.x..");
  plan.fail_every(2);
  calls.clear();
  for (int i = 0; i < 6; ++i) calls += plan.next_fails() ? 'x' : '.';
  REQUIRE(calls == ".x.x.x");
  plan.clear();
  for (int i = 0; i < 6; ++i) REQUIRE_FALSE(plan.next_fails());
}

}  // namespace
}  // namespace timbre::device
