// SPDX-License-Identifier: MIT
//
// What DelayedDevice sees of a caller that breaks the rules, each with the same work done properly beside it. Held
// streams make every case the same on every run.
#include "timbre/device/delayed_device.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "resident.hpp"

namespace timbre::device {
namespace {

constexpr Stream kFirst{1};
constexpr Stream kSecond{2};
constexpr Stream kThird{3};
constexpr std::size_t kPage = 64 * 1024;

std::unique_ptr<DelayedDevice> delayed(std::chrono::microseconds max_delay = std::chrono::microseconds(100)) {
  DelayedDeviceOptions options;
  options.memory.capacity_bytes = 16 * kPage;
  options.max_delay = max_delay;
  auto made = DelayedDevice::create(options);
  REQUIRE(made);
  return std::move(*made);
}

std::vector<ViolationKind> kinds(const DelayedDevice& device) {
  std::vector<ViolationKind> found;
  for (const Violation& violation : device.violations()) found.push_back(violation.kind);
  return found;
}
using Kinds = std::vector<ViolationKind>;

TEST_CASE("new pages hold no number, and an upload that has not run yet is not seen", "[device]") {
  const auto device = delayed();
  const Address run = *device->allocate(1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(run);
  const float one = 1.0F;
  device->hold(kFirst);
  REQUIRE(device->upload(run, &one, sizeof one, kFirst));
  const Event uploaded = *device->record(kFirst);
  REQUIRE_FALSE(device->passed(uploaded));
  REQUIRE(device->queued_count() == 2);
  float read = 0;
  std::memcpy(&read, bytes, sizeof read);
  REQUIRE(read != read);
  device->release(kFirst);
  REQUIRE(device->wait(uploaded));
  std::memcpy(&read, bytes, sizeof read);
  REQUIRE(read == 1.0F);
  REQUIRE(device->passed(uploaded));
  REQUIRE(device->queued_count() == 0);
  device->free(run, 1);
  REQUIRE(kinds(*device).empty());
}

TEST_CASE("a held stream holds back those that wait for it and no others", "[device]") {
  const auto device = delayed();
  device->hold(kFirst);
  const Event first = *device->record(kFirst);
  REQUIRE(device->order_after(kSecond, first));
  const Event second = *device->record(kSecond);
  const Event third = *device->record(kThird);
  REQUIRE(device->wait(third));
  REQUIRE_FALSE(device->passed(first));
  REQUIRE_FALSE(device->passed(second));
  const auto drained = device->drain();
  REQUIRE(drained.error().status == Status::kInvalidArgument);
  REQUIRE(drained.error().message.find("stream 0x1") != std::string::npos);
  device->release(kFirst);
  REQUIRE(device->drain());
  REQUIRE(device->passed(second));
}

TEST_CASE("wait sleeps until another thread lets the stream go", "[device]") {
  const auto device = delayed();
  device->hold(kFirst);
  const Event event = *device->record(kFirst);
  std::thread other([&] { device->release(kFirst); });
  REQUIRE(device->wait(event));
  other.join();
}

TEST_CASE("a copy that is late for its run is told and not done", "[device]") {
  const auto device = delayed();
  const Address run = *device->allocate(1);
  const Address other = *device->allocate(1);
  std::uint64_t word = 1;
  device->hold(kFirst);
  REQUIRE(device->upload(run, &word, sizeof word, kFirst));
  REQUIRE(device->copy(other, run, sizeof word, kFirst));
  std::uint64_t target = 77;
  REQUIRE(device->download(&target, run, sizeof target, kFirst));
  device->free(run, 1);
  REQUIRE(kinds(*device) == Kinds{ViolationKind::kFreedInUse});
  const Address again = *device->allocate(1);  // the same addresses, as it happens
  device->release(kFirst);
  REQUIRE(device->drain());
  const Kinds expected(3, ViolationKind::kUseAfterFree);
  REQUIRE(kinds(*device) == Kinds{ViolationKind::kFreedInUse, expected[0], expected[1], expected[2]});
  REQUIRE(device->violations()[1].text.find("upload of 8 bytes to 0x") == 0);
  REQUIRE(target == 77);
  for (const Address address : {again, other}) {
    REQUIRE(*reinterpret_cast<const std::uint64_t*>(address) == ~std::uint64_t{0});
  }
  device->free(again, 1);
  device->free(other, 1);
  REQUIRE(device->violation_count() == 4);
}

TEST_CASE("a run may be freed once an event after its last use was seen, and not a moment before", "[device]") {
  const auto device = delayed(std::chrono::microseconds(0));
  std::uint64_t word = 1;
  const Address run = *device->allocate(1);
  REQUIRE(device->upload(run, &word, sizeof word, kFirst));
  const Event uploaded = *device->record(kFirst);
  REQUIRE(device->download(&word, run, sizeof word, kFirst));
  const Event downloaded = *device->record(kFirst);

  SECTION("when the last event was seen") {
    REQUIRE(device->wait(downloaded));
    device->free(run, 1);
    REQUIRE(kinds(*device).empty());
  }
  SECTION("when all was seen at once") {
    REQUIRE(device->drain());
    device->free(run, 1);
    REQUIRE(kinds(*device).empty());
  }
  SECTION("when another stream, which waited for it, was seen") {
    REQUIRE(device->order_after(kSecond, downloaded));
    REQUIRE(device->order_after(kThird, *device->record(kSecond)));
    const Event last = *device->record(kThird);
    while (!device->passed(last)) std::this_thread::yield();
    device->free(run, 1);
    REQUIRE(kinds(*device).empty());
  }
  SECTION("not when only an earlier event was seen") {
    REQUIRE(device->wait(uploaded));
    while (device->queued_count() > 0) std::this_thread::yield();  // it is done, but nobody was told
    device->free(run, 1);
    REQUIRE(kinds(*device) == Kinds{ViolationKind::kFreedInUse});
  }
  SECTION("not when a stream was seen that did not wait for it") {
    REQUIRE(device->order_after(kSecond, uploaded));
    REQUIRE(device->wait(*device->record(kSecond)));
    while (device->queued_count() > 0) std::this_thread::yield();
    device->free(run, 1);
    REQUIRE(kinds(*device) == Kinds{ViolationKind::kFreedInUse});
  }
  REQUIRE(device->drain());
}

TEST_CASE("work on the same bytes on two streams is told unless something orders it", "[device]") {
  const auto device = delayed(std::chrono::microseconds(0));
  const Address run = *device->allocate(1);
  std::uint64_t word = 1;
  std::uint64_t copy = 0;
  REQUIRE(device->upload(run, &word, sizeof word, kFirst));
  const Event uploaded = *device->record(kFirst);

  SECTION("ordered by an event") {
    REQUIRE(device->order_after(kSecond, uploaded));
    REQUIRE(device->download(&copy, run, sizeof copy, kSecond));
    REQUIRE(kinds(*device).empty());
  }
  SECTION("ordered by an event between other streams") {
    REQUIRE(device->order_after(kSecond, uploaded));
    REQUIRE(device->order_after(kThird, *device->record(kSecond)));
    REQUIRE(device->download(&copy, run, sizeof copy, kThird));
    REQUIRE(kinds(*device).empty());
  }
  SECTION("ordered by the caller, who saw the event") {
    REQUIRE(device->wait(uploaded));
    REQUIRE(device->download(&copy, run, sizeof copy, kSecond));
    REQUIRE(kinds(*device).empty());
  }
  SECTION("on other bytes of the run") {
    REQUIRE(device->upload(run + 8, &word, sizeof word, kSecond));
    REQUIRE(kinds(*device).empty());
  }
  SECTION("two that only read") {
    REQUIRE(device->wait(uploaded));
    REQUIRE(device->download(&copy, run, sizeof copy, kSecond));
    REQUIRE(device->download(&word, run, sizeof word, kThird));
    REQUIRE(kinds(*device).empty());
  }
  SECTION("a read that nothing orders, done or not") {
    while (device->queued_count() > 0) std::this_thread::yield();
    REQUIRE(device->download(&copy, run, sizeof copy, kSecond));
    REQUIRE(kinds(*device) == Kinds{ViolationKind::kUnordered});
    REQUIRE(device->violations()[0].text.find("on stream 0x2: nothing orders it with") != std::string::npos);
  }
  SECTION("a write that overlaps by one byte") {
    REQUIRE(device->upload(run + 7, &word, sizeof word, kSecond));
    REQUIRE(kinds(*device) == Kinds{ViolationKind::kUnordered});
  }
  SECTION("an event of before the write orders nothing") {
    const Event before = *device->record(kThird);
    REQUIRE(device->upload(run, &word, sizeof word, kThird));
    REQUIRE(device->wait(uploaded));
    REQUIRE(device->order_after(kSecond, before));
    REQUIRE(device->download(&copy, run, sizeof copy, kSecond));
    REQUIRE(kinds(*device) == Kinds{ViolationKind::kUnordered, ViolationKind::kUnordered});
  }
  REQUIRE(device->drain());
  device->free(run, 1);
}

TEST_CASE("addresses of no run are refused and told", "[device]") {
  const auto device = delayed();
  std::uint64_t word = 1;
  const Address run = *device->allocate(2);
  REQUIRE(device->upload(run + 2 * kPage - 8, &word, 8, kFirst));
  REQUIRE(device->upload(run + 2 * kPage - 7, &word, 8, kFirst).error().status == Status::kInvalidArgument);
  REQUIRE(device->copy(run, run + 2 * kPage, 8, kFirst).error().status == Status::kInvalidArgument);
  REQUIRE(device->copy(run, run + 4, 8, kFirst).error().message.find("overlap") != std::string::npos);
  REQUIRE(device->drain());
  device->free(run, 1);
  device->free(run + kPage, 1);
  REQUIRE(device->usage().live_pages == 2);
  device->free(run, 2);
  device->free(run, 2);
  REQUIRE(device->download(&word, run, 8, kFirst).error().status == Status::kInvalidArgument);
  REQUIRE(kinds(*device) == Kinds(6, ViolationKind::kNoSuchRun));
  REQUIRE(device->usage().live_pages == 0);
}

TEST_CASE("events that were never recorded have not passed", "[device]") {
  const auto device = delayed();
  const Event event = *device->record(kFirst);
  REQUIRE(device->wait(event));
  const Event later{static_cast<std::uint64_t>(event) + (std::uint64_t{1} << 16)};
  const Event elsewhere{static_cast<std::uint64_t>(event) + 1};
  for (const Event unknown : {later, elsewhere}) {
    REQUIRE_FALSE(device->passed(unknown));
    REQUIRE(device->wait(unknown).error().status == Status::kInvalidArgument);
    REQUIRE(device->order_after(kFirst, unknown).error().status == Status::kInvalidArgument);
  }
}

TEST_CASE("a device that ends drops its waiting work and frees its runs", "[device]") {
  auto device = delayed();
  const Address run = *device->allocate(4);
  std::uint64_t word = 5;
  device->hold(kFirst);
  REQUIRE(device->download(&word, run, sizeof word, kFirst));
  REQUIRE(resident_bytes(reinterpret_cast<const void*>(run), 4 * kPage) >= 4 * kPage);
  device.reset();
  REQUIRE(word == 5);
  REQUIRE_FALSE(is_mapped(reinterpret_cast<const void*>(run)));
}

TEST_CASE("a run that is freed while a copy is at it stays until the copy is over", "[device]") {
  DelayedDeviceOptions options;
  options.memory.capacity_bytes = 256 * kPage;
  options.max_delay = std::chrono::microseconds(0);
  const auto made = DelayedDevice::create(options);
  REQUIRE(made);
  DelayedDevice& device = **made;
  for (int round = 0; round < 30; ++round) {
    const Address run = *device.allocate(256);
    REQUIRE(device.copy(run + 128 * kPage, run, 128 * kPage, kFirst));  // takes about a millisecond
    std::this_thread::sleep_for(std::chrono::microseconds(10 * round));
    device.free(run, 256);
    REQUIRE(device.drain());
    REQUIRE(device.usage().live_pages == 0);
    REQUIRE(device.violations()[0].kind == ViolationKind::kFreedInUse);
  }
  REQUIRE(device.violation_count() >= 30);
}

TEST_CASE("only so many violations are kept in full", "[device]") {
  const auto device = delayed();
  for (std::size_t i = 0; i < DelayedDevice::kViolationsKept + 20; ++i) device->free(8, 1);
  REQUIRE(device->violation_count() == DelayedDevice::kViolationsKept + 20);
  REQUIRE(device->violations().size() == DelayedDevice::kViolationsKept);
}

TEST_CASE("which of several streams goes next comes from the seed", "[device]") {
  const auto order_of = [](std::uint64_t seed) {
    DelayedOrder order;
    DelayedQueues queues(seed, std::chrono::microseconds(0));
    for (const Stream stream : {kFirst, kSecond, kThird}) {
      for (int i = 0; i < 20; ++i) queues.push(order.index_of(stream), {});
    }
    std::string picked;
    std::optional<DelayedQueues::Instant> next;
    while (const auto stream = queues.ready(order, next)) {
      picked += static_cast<char>('a' + *stream);
      (void)queues.pop(*stream);
    }
    return picked;
  };
  REQUIRE(order_of(1).size() == 60);
  REQUIRE(order_of(1) == order_of(1));
  REQUIRE(order_of(1) != order_of(2));
}

}  // namespace
}  // namespace timbre::device
