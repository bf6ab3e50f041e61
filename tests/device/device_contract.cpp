// SPDX-License-Identifier: MIT
#include "device_contract.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>

namespace timbre::device {
namespace {

using Bytes = std::vector<unsigned char>;

/// Bytes that tell where they come from: no two tags and no two places near each other agree.
Bytes pattern(std::size_t count, std::uint32_t tag) {
  Bytes bytes(count);
  std::uint32_t state = tag * 2654435761u + 1;
  for (unsigned char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return bytes;
}

Result<void> finish(Device& device, Stream stream) {
  const auto event = device.record(stream);
  if (!event) return event.error();
  return device.wait(*event);
}

void put(Device& device, Address to, const Bytes& bytes, Stream stream) {
  REQUIRE(device.upload(to, bytes.data(), bytes.size(), stream));
  REQUIRE(finish(device, stream));
}

Bytes get(Device& device, Address from, std::size_t count, Stream stream) {
  Bytes bytes(count);
  REQUIRE(device.download(bytes.data(), from, count, stream));
  REQUIRE(finish(device, stream));
  return bytes;
}

Address take(Device& device, std::size_t page_count) {
  const auto run = device.allocate(page_count);
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  return *run;
}

// --- memory ---

void runs_are_aligned_and_apart(DeviceUnderTest& test) {
  const Properties& properties = test.device->properties();
  REQUIRE(properties.page_bytes > 0);
  REQUIRE((properties.page_bytes & (properties.page_bytes - 1)) == 0);
  REQUIRE((properties.row_alignment & (properties.row_alignment - 1)) == 0);
  REQUIRE(properties.page_bytes % properties.row_alignment == 0);
  std::vector<std::pair<Address, std::size_t>> runs;
  for (const std::size_t page_count : {1, 3, 2, 1, 5}) {
    const Address run = take(*test.device, page_count);
    REQUIRE(run != 0);
    REQUIRE(run % properties.row_alignment == 0);
    for (const auto& [other, count] : runs) {
      const bool is_apart =
          run + page_count * properties.page_bytes <= other || other + count * properties.page_bytes <= run;
      REQUIRE(is_apart);
    }
    runs.emplace_back(run, page_count);
  }
  REQUIRE(test.live_pages() == 12);
  for (const auto& [run, count] : runs) test.device->free(run, count);
}

void runs_are_contiguous(DeviceUnderTest& test) {
  Device& device = *test.device;
  const std::size_t page = device.properties().page_bytes;
  const Address run = take(device, 4);
  const Bytes whole = pattern(4 * page, 1);
  put(device, run, whole, test.streams[0]);
  REQUIRE(get(device, run, whole.size(), test.streams[0]) == whole);
  const Bytes across = pattern(page, 2);
  put(device, run + page / 2, across, test.streams[1]);
  REQUIRE(get(device, run + page / 2, page, test.streams[1]) == across);
  const Bytes before = get(device, run, page / 2, test.streams[0]);
  REQUIRE(std::equal(before.begin(), before.end(), whole.begin()));
  device.free(run, 4);
}

void contents_survive_other_runs(DeviceUnderTest& test) {
  Device& device = *test.device;
  const std::size_t page = device.properties().page_bytes;
  std::vector<std::pair<Address, std::uint32_t>> kept;
  std::uint32_t tag = 0;
  for (int round = 0; round < 40; ++round) {
    const Address run = take(device, 2);
    put(device, run, pattern(2 * page, ++tag), test.streams[0]);
    kept.emplace_back(run, tag);
    if (kept.size() < 5) continue;
    const auto victim = kept.begin() + round % 5;
    REQUIRE(get(device, victim->first, 2 * page, test.streams[1]) == pattern(2 * page, victim->second));
    device.free(victim->first, 2);
    kept.erase(victim);
  }
  for (const auto& [run, number] : kept) {
    REQUIRE(get(device, run, 2 * page, test.streams[0]) == pattern(2 * page, number));
    device.free(run, 2);
  }
}

void out_of_memory_is_an_error_and_loses_nothing(DeviceUnderTest& test) {
  Device& device = *test.device;
  const std::size_t page = device.properties().page_bytes;
  std::vector<Address> runs;
  auto run = device.allocate(1);
  for (; run; run = device.allocate(1)) {
    put(device, *run, pattern(page, static_cast<std::uint32_t>(runs.size())), test.streams[0]);
    runs.push_back(*run);
  }
  REQUIRE(run.error().status == Status::kOutOfMemory);
  REQUIRE_FALSE(run.error().message.empty());
  REQUIRE(test.live_pages() == runs.size());
  REQUIRE(device.allocate(std::numeric_limits<std::size_t>::max()).error().status == Status::kOutOfMemory);
  REQUIRE(device.allocate(std::numeric_limits<std::size_t>::max() / page + 2).error().status == Status::kOutOfMemory);
  REQUIRE(device.allocate(0).error().status == Status::kInvalidArgument);
  REQUIRE(test.live_pages() == runs.size());
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    REQUIRE(get(device, runs[i], page, test.streams[0]) == pattern(page, i));
  }
  device.free(runs.back(), 1);
  runs.back() = take(device, 1);
  for (const Address one : runs) device.free(one, 1);
}

void fragments_serve_a_long_run_where_pages_are_mapped(DeviceUnderTest& test) {
  Device& device = *test.device;
  std::vector<Address> runs;
  for (auto run = device.allocate(1); run; run = device.allocate(1)) runs.push_back(*run);
  REQUIRE(runs.size() >= 8);
  for (std::size_t i = 0; i < 8; i += 2) device.free(runs[i], 1);
  const auto run = device.allocate(4);
  if (device.properties().maps_pages) {
    REQUIRE(run);
    device.free(*run, 4);
  } else {
    REQUIRE(run.error().status == Status::kOutOfMemory);
    device.free(runs[1], 1);
    device.free(runs[3], 1);
    device.free(take(device, 4), 4);
    runs[1] = take(device, 1);
    runs[3] = take(device, 1);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i >= 8 || i % 2 == 1) device.free(runs[i], 1);
  }
}

// --- order ---

void events_pass_in_order(DeviceUnderTest& test) {
  Device& device = *test.device;
  REQUIRE(device.passed(Event::kPassed));
  REQUIRE(device.wait(Event::kPassed));
  REQUIRE(device.order_after(test.streams[0], Event::kPassed));
  const Address run = take(device, 1);
  const Bytes bytes = pattern(512, 3);
  std::vector<Event> events;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(device.upload(run, bytes.data(), bytes.size(), test.streams[0]));
    const auto event = device.record(test.streams[0]);
    REQUIRE(event);
    REQUIRE((*event == Event::kPassed || std::find(events.begin(), events.end(), *event) == events.end()));
    events.push_back(*event);
  }
  bool all_passed = false;
  while (!all_passed) {
    bool later_passed = false;
    all_passed = true;
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      const bool has_passed = device.passed(*event);
      REQUIRE((has_passed || !later_passed));
      later_passed = has_passed;
      all_passed = all_passed && has_passed;
    }
    std::this_thread::yield();
  }
  for (const Event event : events) REQUIRE(device.passed(event));
  for (const Event event : events) REQUIRE(device.wait(event));
  device.free(run, 1);
}

void host_bytes_may_be_reused_at_once(DeviceUnderTest& test) {
  Device& device = *test.device;
  const Address run = take(device, 1);
  for (std::uint32_t round = 0; round < 50; ++round) {
    const Bytes expected = pattern(1280, round);
    {
      Bytes bytes = expected;
      REQUIRE(device.upload(run, bytes.data(), bytes.size(), test.streams[0]));
      std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    }
    REQUIRE(get(device, run, 1280, test.streams[0]) == expected);
  }
  device.free(run, 1);
}

void one_stream_keeps_its_order(DeviceUnderTest& test) {
  Device& device = *test.device;
  const std::size_t half = device.properties().page_bytes / 2;
  const Address run = take(device, 1);
  constexpr std::uint32_t kRounds = 60;
  std::vector<Bytes> copies(kRounds, Bytes(700));
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const Bytes bytes = pattern(700, round);
    REQUIRE(device.upload(run, bytes.data(), 700, test.streams[2]));
    REQUIRE(device.copy(run + half, run, 700, test.streams[2]));
    REQUIRE(device.upload(run, pattern(700, round + 1000).data(), 700, test.streams[2]));
    REQUIRE(device.download(copies[round].data(), run + half, 700, test.streams[2]));
  }
  REQUIRE(finish(device, test.streams[2]));
  for (std::uint32_t round = 0; round < kRounds; ++round) REQUIRE(copies[round] == pattern(700, round));
  device.free(run, 1);
}

void streams_wait_for_each_other_when_told(DeviceUnderTest& test) {
  Device& device = *test.device;
  const std::size_t part = device.properties().page_bytes / 4;
  const Address run = take(device, 1);
  Event last = Event::kPassed;
  constexpr std::uint32_t kRounds = 60;
  std::vector<Bytes> copies(kRounds, Bytes(part));
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    REQUIRE(device.order_after(test.streams[0], last));
    REQUIRE(device.upload(run, pattern(part, round).data(), part, test.streams[0]));
    const auto uploaded = device.record(test.streams[0]);
    REQUIRE(uploaded);
    REQUIRE(device.order_after(test.streams[1], *uploaded));
    REQUIRE(device.copy(run + part, run, part, test.streams[1]));
    const auto copied = device.record(test.streams[1]);
    REQUIRE(copied);
    REQUIRE(device.order_after(test.streams[2], *copied));
    REQUIRE(device.download(copies[round].data(), run + part, part, test.streams[2]));
    const auto downloaded = device.record(test.streams[2]);
    REQUIRE(downloaded);
    last = *downloaded;
  }
  REQUIRE(device.wait(last));
  for (std::uint32_t round = 0; round < kRounds; ++round) REQUIRE(copies[round] == pattern(part, round));
  device.free(run, 1);
}

void the_default_stream_is_a_stream(DeviceUnderTest& test) {
  Device& device = *test.device;
  const Address run = take(device, 1);
  put(device, run, pattern(100, 5), Stream::kDefault);
  REQUIRE(get(device, run, 100, Stream::kDefault) == pattern(100, 5));
  REQUIRE(device.upload(run, nullptr, 0, Stream::kDefault));
  REQUIRE(device.download(nullptr, run, 0, Stream::kDefault));
  REQUIRE(get(device, run, 100, Stream::kDefault) == pattern(100, 5));
  device.free(run, 1);
}

// --- readings and failures ---

void readings_follow_what_is_handed_out(DeviceUnderTest& test) {
  Device& device = *test.device;
  const auto before = device.memory();
  REQUIRE(before);
  REQUIRE(before->free_bytes <= before->total_bytes);
  REQUIRE(before->total_bytes > 0);
  const Address run = take(device, 2);
  const auto during = device.memory();
  REQUIRE(during);
  REQUIRE(during->total_bytes == before->total_bytes);
  if (test.script != nullptr) {
    REQUIRE(during->free_bytes == before->free_bytes - 2 * device.properties().page_bytes);
  }
  device.free(run, 2);
}

// Impossible readings as in llama.cpp #17536 (free > total) and #19437 (an underflow).
void scripted_readings_come_as_told(DeviceUnderTest& test) {
  if (test.script == nullptr) return;
  Device& device = *test.device;
  ReadingPlan& plan = test.script->readings;
  const auto own = device.memory();
  plan.push(MemoryReading{300, 200});
  plan.push(MemoryReading{0, 0});
  plan.push(Error{Status::kIo, "the driver does not answer"});
  plan.push(MemoryReading{1, 2}, std::chrono::milliseconds(20));
  REQUIRE(device.memory()->free_bytes == 300);
  REQUIRE(device.memory()->total_bytes == 0);
  REQUIRE(device.memory().error().status == Status::kIo);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(device.memory()->total_bytes == 2);
  REQUIRE(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(20));
  REQUIRE(device.memory()->free_bytes == own->free_bytes);
  int asked = 0;
  plan.set_source([&asked]() -> Result<MemoryReading> {
    ++asked;
    return MemoryReading{7, 8};
  });
  plan.push(MemoryReading{5, 6});
  REQUIRE(device.memory()->free_bytes == 5);
  REQUIRE(asked == 0);
  REQUIRE(device.memory()->free_bytes == 7);
  REQUIRE(asked == 1);
  plan.set_source({});
  REQUIRE(device.memory()->total_bytes == own->total_bytes);
}

void scripted_failures_change_nothing(DeviceUnderTest& test) {
  if (test.script == nullptr) return;
  Device& device = *test.device;
  const Stream stream = test.streams[0];
  const Address run = take(device, 1);
  put(device, run, pattern(64, 1), stream);
  test.script->allocations.fail_at(2);
  const Address other = take(device, 1);
  REQUIRE(device.allocate(1).error().status == Status::kOutOfMemory);
  REQUIRE(test.live_pages() == 2);
  device.free(other, 1);
  device.free(take(device, 1), 1);

  Bytes bytes = pattern(64, 2);
  test.script->copies.fail_every(3);
  REQUIRE(device.upload(run, bytes.data(), 64, stream));
  REQUIRE(device.download(bytes.data(), run, 64, stream));
  const Bytes third = pattern(64, 3);
  REQUIRE(device.upload(run, third.data(), 64, stream).error().status == Status::kIo);
  REQUIRE(finish(device, stream));
  REQUIRE(bytes == pattern(64, 2));
  REQUIRE(device.copy(run + 64, run, 64, stream));
  REQUIRE(device.copy(run + 64, run, 64, stream));
  REQUIRE(device.download(bytes.data(), run, 64, stream).error().status == Status::kIo);
  test.script->copies.clear();
  REQUIRE(get(device, run, 64, stream) == pattern(64, 2));

  test.script->events.fail_every(1);
  REQUIRE(device.record(stream).error().status == Status::kIo);
  REQUIRE(device.order_after(stream, Event::kPassed).error().status == Status::kIo);
  test.script->events.clear();
  REQUIRE(device.record(stream));
  device.free(run, 1);
}

// --- threads ---

/// One thread's part: pages of its own come and go, bytes pass from its stream to a neighbour's and back. Counts what
/// went wrong, since only one thread may use the test framework.
std::uint64_t pass_bytes_around(DeviceUnderTest& test, std::size_t thread, std::uint32_t round_count) {
  Device& device = *test.device;
  const Stream own = test.streams[thread];
  const Stream other = test.streams[(thread + 1) % test.streams.size()];
  std::uint64_t wrong = 0;
  for (std::uint32_t round = 0; round < round_count; ++round) {
    const std::size_t page_count = 1 + round % 2;
    const auto run = device.allocate(page_count);
    if (!run) {
      wrong += run.error().status == Status::kOutOfMemory ? 0 : 1;
      continue;
    }
    const Bytes expected = pattern(1280, static_cast<std::uint32_t>(thread) * 100000 + round);
    Bytes bytes(1280);
    wrong += !device.upload(*run, expected.data(), 1280, own);
    const auto uploaded = device.record(own);
    wrong += !uploaded || !device.order_after(other, *uploaded);
    wrong += !device.download(bytes.data(), *run, 1280, other);
    const auto downloaded = device.record(other);
    if (round % 3 == 0) {
      while (!device.passed(*downloaded)) std::this_thread::yield();
    } else {
      wrong += !device.wait(*downloaded);
    }
    wrong += bytes != expected;
    wrong += !device.memory();
    device.free(*run, page_count);
  }
  return wrong;
}

void four_threads_use_it_at_once(DeviceUnderTest& test) {
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&test, &wrong, i] { wrong += pass_bytes_around(test, i, 150); });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
}

struct Clause {
  const char* title;
  void (*check)(DeviceUnderTest&);
};

constexpr Clause kClauses[] = {
    {"runs are aligned and lie apart", runs_are_aligned_and_apart},
    {"a run is contiguous", runs_are_contiguous},
    {"contents survive what happens to other runs", contents_survive_other_runs},
    {"out of memory is an error and loses nothing", out_of_memory_is_an_error_and_loses_nothing},
    {"single free pages make a long run where pages are mapped", fragments_serve_a_long_run_where_pages_are_mapped},
    {"events of a stream pass in order and stay passed", events_pass_in_order},
    {"host bytes may be reused when an upload returns", host_bytes_may_be_reused_at_once},
    {"one stream keeps its order", one_stream_keeps_its_order},
    {"streams wait for each other when told", streams_wait_for_each_other_when_told},
    {"the default stream is a stream, and no bytes are no work", the_default_stream_is_a_stream},
    {"readings follow what is handed out", readings_follow_what_is_handed_out},
    {"scripted readings come as told, impossible ones too", scripted_readings_come_as_told},
    {"scripted failures change nothing", scripted_failures_change_nothing},
    {"four threads use it at once", four_threads_use_it_at_once},
};

}  // namespace

void check_contract(const MakeDevice& make) {
  for (const Clause& clause : kClauses) {
    DYNAMIC_SECTION(clause.title) {
      DeviceUnderTest test = make(16);
      clause.check(test);
      REQUIRE(test.live_pages() == 0);
      REQUIRE(test.complaints() == 0);
    }
  }
}

}  // namespace timbre::device
