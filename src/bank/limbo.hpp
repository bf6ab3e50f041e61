// SPDX-License-Identifier: MIT
//
// Limbo: rooms in a device that nobody wants any more while work on them may still run.
//
// Invariant: a room leaves limbo only after an event behind its last work was seen to pass.
#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "timbre/cache/reservation.hpp"
#include "timbre/device/device.hpp"

namespace timbre::bank {

/// Thread safety: all members from any thread. The cache of the rooms outlives it.
class Limbo {
 public:
  Limbo(device::Device& device, device::Stream stream) : device_(device), stream_(stream) {}
  Limbo(const Limbo&) = delete;
  Limbo& operator=(const Limbo&) = delete;
  ~Limbo() {
    for (Room& room : rooms_) {
      for (int tries = 0; tries < kLastTries && !has_end(room); ++tries) {
      }
      if (room.end) static_cast<void>(device_.wait(*room.end));
    }
  }

  /// @param end  an event behind the work, if there is one already.
  void add(cache::Reservation&& room, std::optional<device::Event> end) {
    const std::lock_guard lock(mutex_);
    rooms_.push_back({std::move(room), end});
  }

  /// Lets go what has ended. @return how many rooms are left.
  std::size_t settle() {
    std::vector<Room> looked_at;
    {
      const std::lock_guard lock(mutex_);
      looked_at.swap(rooms_);
    }
    std::vector<Room> kept;
    kept.reserve(looked_at.size());
    for (Room& room : looked_at) {
      if (!has_end(room) || !device_.passed(*room.end)) kept.push_back(std::move(room));
    }
    const std::lock_guard lock(mutex_);
    for (Room& room : kept) rooms_.push_back(std::move(room));
    return rooms_.size();
  }

 private:
  struct Room {
    cache::Reservation room;
    std::optional<device::Event> end;
  };
  static constexpr int kLastTries = 100;  // at the end, on a device that records no events any more

  bool has_end(Room& room) {
    if (room.end) return true;
    const Result<device::Event> end = device_.record(stream_);
    if (end) room.end = *end;
    return end.ok();
  }

  device::Device& device_;
  device::Stream stream_;
  std::mutex mutex_;
  std::vector<Room> rooms_;  // guarded by mutex_
};

}  // namespace timbre::bank
