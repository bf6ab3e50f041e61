// SPDX-License-Identifier: MIT
//
// HostDevice: RAM as a device. The cache's memory where the device is the CPU, its second tier elsewhere, and a double
// for tests: capacity, failures and readings of free memory can be set while it runs.
//
// Invariants
//   * Every stream is done with a piece of work when the call that gave it returns, so every event has passed.
//   * Freed pages go back to the system at once and may not be touched any more; a touch faults where the addresses
//   have
//     not been handed out again.
//   * A device that maps pages takes each run from the system by itself. One that does not takes the lowest run of free
//     pages that is long enough out of one arena, so that it fragments as such memory does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "timbre/core/result.hpp"
#include "timbre/device/device.hpp"
#include "timbre/device/device_script.hpp"
#include "timbre/device/host_pages.hpp"

namespace timbre::device {

struct HostDeviceOptions {
  std::uint64_t capacity_bytes = 0;    ///< whole pages of it are used; 0 is a device without room
  std::size_t page_bytes = 64 * 1024;  ///< a power of two, a multiple of the system's page
  std::size_t row_alignment = 64;      ///< a power of two, at most the system's page
  bool maps_pages = true;              ///< false: runs are contiguous parts of one arena
  std::string name = "host";
};

/// What a HostDevice has handed out, in its pages.
struct HostUsage {
  std::uint64_t capacity_pages = 0;
  std::uint64_t live_pages = 0;
  std::uint64_t peak_pages = 0;
  std::uint64_t largest_free_run_pages = 0;  ///< the longest run that allocate() could give now
};

class HostDevice final : public Device {
 public:
  /// Errors: kInvalidArgument for options that do not fit together; kOutOfMemory when an arena finds no addresses.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> create(HostDeviceOptions options);

  [[nodiscard]] const Properties& properties() const noexcept override { return properties_; }
  [[nodiscard]] Result<Address> allocate(std::size_t page_count) override;
  void free(Address run, std::size_t page_count) noexcept override;

  [[nodiscard]] Result<void> upload(Address to, const void* from, std::size_t bytes, Stream) override {
    return move_bytes(reinterpret_cast<void*>(to), from, bytes);
  }
  [[nodiscard]] Result<void> download(void* to, Address from, std::size_t bytes, Stream) override {
    return move_bytes(to, reinterpret_cast<const void*>(from), bytes);
  }
  [[nodiscard]] Result<void> copy(Address to, Address from, std::size_t bytes, Stream) override {
    return move_bytes(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  }

  [[nodiscard]] Result<Event> record(Stream) override {
    if (script_.events.next_fails()) return Error{Status::kIo, properties_.name + ": scripted failure of an event"};
    return Event::kPassed;
  }
  [[nodiscard]] bool passed(Event) noexcept override { return true; }
  [[nodiscard]] Result<void> wait(Event) override { return {}; }
  [[nodiscard]] Result<void> order_after(Stream, Event) override {
    if (script_.events.next_fails()) return Error{Status::kIo, properties_.name + ": scripted failure of an event"};
    return {};
  }

  /// Unless the script says otherwise: the capacity, and what of it is not handed out.
  [[nodiscard]] Result<MemoryReading> memory() override;

  /// From now on at most so many bytes are handed out; what is handed out beyond that stays until it is freed.
  /// Error: kInvalidArgument for more than the arena of a device that does not map pages, its first capacity.
  [[nodiscard]] Result<void> set_capacity(std::uint64_t bytes);

  [[nodiscard]] HostUsage usage() const;
  [[nodiscard]] DeviceScript& script() noexcept { return script_; }

 private:
  explicit HostDevice(const HostDeviceOptions& options);

  [[nodiscard]] Result<void> move_bytes(void* to, const void* from, std::size_t bytes);
  [[nodiscard]] Result<Address> take_mapped(std::size_t page_count);
  [[nodiscard]] Result<Address> take_from_arena(std::size_t page_count);
  [[nodiscard]] Error out_of_memory(std::size_t page_count, const std::string& why) const;

  Properties properties_;
  DeviceScript script_;
  HostPages arena_;  // empty where pages are mapped

  mutable std::mutex mutex_;  // guards all below
  std::uint64_t capacity_pages_ = 0;
  std::uint64_t live_pages_ = 0;
  std::uint64_t peak_pages_ = 0;
  std::vector<bool> taken_;  // of the arena's pages
};

inline HostDevice::HostDevice(const HostDeviceOptions& options)
    : properties_{options.name, options.page_bytes, options.row_alignment, options.maps_pages, true},
      capacity_pages_(options.capacity_bytes / options.page_bytes) {}

inline Result<std::unique_ptr<HostDevice>> HostDevice::create(HostDeviceOptions options) {
  const auto is_power_of_two = [](std::size_t n) { return n != 0 && (n & (n - 1)) == 0; };
  const std::size_t system_page = HostPages::page_bytes();
  if (!is_power_of_two(options.page_bytes) || options.page_bytes % system_page != 0) {
    return Error{Status::kInvalidArgument, options.name + ": a page of " + std::to_string(options.page_bytes) +
                                               " bytes; expected a power of two, at least " +
                                               std::to_string(system_page)};
  }
  if (!is_power_of_two(options.row_alignment) || options.row_alignment > system_page) {
    return Error{Status::kInvalidArgument, options.name + ": rows aligned to " + std::to_string(options.row_alignment) +
                                               " bytes; expected a power of two, at most " +
                                               std::to_string(system_page)};
  }
  std::unique_ptr<HostDevice> device(new HostDevice(options));
  if (!options.maps_pages && device->capacity_pages_ > 0) {
    auto arena = HostPages::reserve(device->capacity_pages_ * options.page_bytes);
    if (!arena) return arena.error();
    device->arena_ = std::move(*arena);
    device->taken_.resize(device->capacity_pages_);
  }
  return device;
}

inline Error HostDevice::out_of_memory(std::size_t page_count, const std::string& why) const {
  return {Status::kOutOfMemory, properties_.name + ": no run of " + std::to_string(page_count) + " pages: " + why};
}

inline Result<Address> HostDevice::allocate(std::size_t page_count) {
  if (page_count == 0) return Error{Status::kInvalidArgument, properties_.name + ": a run of 0 pages"};
  if (script_.allocations.next_fails()) return out_of_memory(page_count, "scripted failure");
  {
    const std::lock_guard lock(mutex_);
    if (live_pages_ > capacity_pages_ || page_count > capacity_pages_ - live_pages_) {
      return out_of_memory(page_count,
                           std::to_string(live_pages_) + " of " + std::to_string(capacity_pages_) + " are handed out");
    }
    live_pages_ += page_count;
  }
  auto run = properties_.maps_pages ? take_mapped(page_count) : take_from_arena(page_count);
  const std::lock_guard lock(mutex_);
  if (run) {
    peak_pages_ = std::max(peak_pages_, live_pages_);
  } else {
    live_pages_ -= page_count;
  }
  return run;
}

inline Result<Address> HostDevice::take_mapped(std::size_t page_count) {
  const std::size_t bytes = page_count * properties_.page_bytes;
  auto pages = HostPages::reserve(bytes);
  if (!pages) return pages.error();
  if (auto committed = pages->commit(0, bytes); !committed) return committed.error();
  return reinterpret_cast<Address>(pages->detach());
}

inline Result<Address> HostDevice::take_from_arena(std::size_t page_count) {
  std::size_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::search_n(taken_.begin(), taken_.end(), page_count, false);
    if (found == taken_.end()) return out_of_memory(page_count, "the free pages lie apart");
    first = static_cast<std::size_t>(found - taken_.begin());
    std::fill_n(found, page_count, true);
  }
  auto committed = arena_.commit(first * properties_.page_bytes, page_count * properties_.page_bytes);
  if (committed) return reinterpret_cast<Address>(arena_.data()) + first * properties_.page_bytes;
  const std::lock_guard lock(mutex_);
  std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(first), page_count, false);
  return committed.error();
}

inline void HostDevice::free(Address run, std::size_t page_count) noexcept {
  const std::size_t bytes = page_count * properties_.page_bytes;
  if (properties_.maps_pages) {
    HostPages::adopt(reinterpret_cast<void*>(run), bytes).reset();
    const std::lock_guard lock(mutex_);
    live_pages_ -= page_count;
    return;
  }
  const std::size_t offset = run - reinterpret_cast<Address>(arena_.data());
  arena_.revoke(offset, bytes);
  const std::lock_guard lock(mutex_);
  std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(offset / properties_.page_bytes), page_count, false);
  live_pages_ -= page_count;
}

inline Result<void> HostDevice::move_bytes(void* to, const void* from, std::size_t bytes) {
  if (script_.copies.next_fails()) return Error{Status::kIo, properties_.name + ": scripted failure of a copy"};
  if (bytes > 0) std::memcpy(to, from, bytes);
  return {};
}

inline Result<MemoryReading> HostDevice::memory() {
  if (auto scripted = script_.readings.next()) return std::move(*scripted);
  const std::lock_guard lock(mutex_);
  const std::uint64_t free_pages = capacity_pages_ - std::min(live_pages_, capacity_pages_);
  return MemoryReading{free_pages * properties_.page_bytes, capacity_pages_ * properties_.page_bytes};
}

inline Result<void> HostDevice::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t pages = bytes / properties_.page_bytes;
  if (!properties_.maps_pages && pages > taken_.size()) {
    return Error{Status::kInvalidArgument, properties_.name + ": a capacity of " + std::to_string(bytes) +
                                               " bytes; the arena has " + std::to_string(arena_.size())};
  }
  capacity_pages_ = pages;
  return {};
}

inline HostUsage HostDevice::usage() const {
  const std::lock_guard lock(mutex_);
  HostUsage usage{capacity_pages_, live_pages_, peak_pages_, capacity_pages_ - std::min(live_pages_, capacity_pages_)};
  if (!properties_.maps_pages) {
    std::uint64_t longest = 0;
    std::uint64_t run = 0;
    for (const bool taken : taken_) {
      run = taken ? 0 : run + 1;
      longest = std::max(longest, run);
    }
    usage.largest_free_run_pages = std::min(usage.largest_free_run_pages, longest);
  }
  return usage;
}

}  // namespace timbre::device
