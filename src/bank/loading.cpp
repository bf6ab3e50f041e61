// SPDX-License-Identifier: MIT
#include "bank/loading.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include "voice/packed_voice.hpp"

namespace timbre::bank {
namespace {

constexpr std::chrono::milliseconds kLongestWaitForRoom{10};
constexpr std::chrono::milliseconds kBetweenLooksForRoom{1};
constexpr int kYields = 64;  // for an upload of microseconds; then sleep
constexpr std::chrono::microseconds kBetweenLooksAtUpload{50};

void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Loading::~Loading() {
  if (device_room_ && stage_ == Stage::kUploading && !(sent_ && ways_.device.device.passed(*sent_))) {
    ways_.limbo.add(std::move(*device_room_), sent_);
  }
  device_room_.reset();
  host_room_.reset();
  if (layout_ != 0) ways_.layouts.drop(layout_);
}

Result<Loading::Progress> Loading::pump(Clock::time_point deadline, Clock::time_point caller_deadline,
                                        cache::Admission admission) {
  try {
    return step(deadline, caller_deadline, admission);
  } catch (const std::bad_alloc&) {
    return Error{Status::kOutOfMemory, fmt::format("voice '{}': no memory to load it", id_)};
  }
}

Result<Loading::Progress> Loading::step(Clock::time_point deadline, Clock::time_point caller_deadline,
                                        cache::Admission admission) {
  if (stage_ == Stage::kBegin) {
    if (Result<void> begun = begin(); !begun) return std::move(begun).error();
  }
  if (stage_ == Stage::kReading) {
    Result<Progress> read_now = read(deadline, admission);
    if (!read_now || stage_ == Stage::kReading) return read_now;
  }
  if (stage_ == Stage::kRoom) {
    Result<Progress> found = find_room(deadline, caller_deadline, admission);
    if (!found || stage_ == Stage::kRoom) return found;
  }
  if (stage_ == Stage::kUploading) return await_upload(deadline);
  return Progress::kReady;
}

Result<void> Loading::begin() {
  if (ways_.host != nullptr) host_lease_ = ways_.host->cache.lookup(id_);
  if (host_lease_) {
    count(ways_.counters.promotions);
    version_ = host_lease_.version();
    stage_ = Stage::kRoom;
    return {};
  }
  count(ways_.counters.loads);
  Result<std::unique_ptr<store::VoiceLoad>> load = ways_.store.begin_load(id_);
  if (!load) return std::move(load).error();
  load_ = std::move(*load);
  stage_ = Stage::kReading;
  return {};
}

Result<Loading::Progress> Loading::read(Clock::time_point deadline, cache::Admission admission) {
  Result<std::optional<store::StoredVoice>> voice = load_->pump(deadline);
  if (!voice) return std::move(voice).error();
  if (!*voice) return Progress::kPending;
  load_.reset();
  if (Result<void> taken = take_record(**voice, admission); !taken) return std::move(taken).error();
  stage_ = Stage::kRoom;
  return Progress::kPending;
}

Result<void> Loading::take_record(const store::StoredVoice& voice, cache::Admission admission) {
  if (Result<void> checked = voice::check(*voice.record); !checked) {
    count(ways_.counters.refused_records);
    return Error{Status::kFormat, fmt::format("voice '{}', version {} of the store: {}", id_, voice.version.sequence,
                                              checked.error().message)};
  }
  version_ = {voice.version.sequence, voice.version.checksum};
  layout_ = ways_.layouts.intern(voice::layout_of(*voice.record));
  const voice::PackedLayout& layout = ways_.layouts.at(layout_);
  if (ways_.host != nullptr) {
    Result<cache::Reservation> room = ways_.host->reserve(id_, layout_, version_, admission);
    if (room && !room->transient()) {
      host_room_.emplace(std::move(*room));
      auto* const row = reinterpret_cast<std::byte*>(host_room_->address());  // NOLINT: memory of this process
      voice::pack(*voice.record, layout, {row, layout.row_bytes});
      return {};
    }
  }
  packed_.resize(layout.row_bytes);
  voice::pack(*voice.record, layout, packed_);
  return {};
}

Result<Loading::Progress> Loading::find_room(Clock::time_point deadline, Clock::time_point caller_deadline,
                                             cache::Admission admission) {
  const std::uint32_t layout = host_lease_ ? host_lease_.note() : layout_;
  while (true) {
    Result<cache::Reservation> room = ways_.device.reserve(id_, layout, version_, admission);
    const bool is_short = !room || room->transient();
    if (is_short && !room_deadline_) {
      // A lease that goes may give the memory back: of a row inside the budget, or at least of the device.
      const bool can_come = admission == cache::Admission::kDemand &&
                            (!room || ways_.device.could_hold(ways_.layouts.at(layout).row_bytes));
      const Clock::time_point now = Clock::now();
      room_deadline_ = can_come ? std::min(caller_deadline, now + kLongestWaitForRoom) : now;
    }
    if (!is_short || Clock::now() >= *room_deadline_) {
      if (!room) return Error{room.error().status, fmt::format("voice '{}': {}", id_, room.error().message)};
      device_room_.emplace(std::move(*room));
      break;
    }
    if (room) const cache::Reservation dropped(std::move(*room));
    if (Clock::now() >= deadline) return Progress::kPending;
    std::this_thread::sleep_until(std::min({*room_deadline_, deadline, Clock::now() + kBetweenLooksForRoom}));
  }
  if (Result<void> sent = send(); !sent) return std::move(sent).error();
  return Progress::kPending;
}

const void* Loading::source() const {
  if (host_lease_) return reinterpret_cast<const void*>(host_lease_.address());  // NOLINT: memory of this process
  if (host_room_) return reinterpret_cast<const void*>(host_room_->address());   // NOLINT: memory of this process
  return packed_.data();
}

Result<void> Loading::send() {
  device::Device& device = ways_.device.device;
  if (Result<void> given = device.upload(device_room_->address(), source(), device_room_->bytes(), ways_.stream);
      !given) {
    return Error{given.error().status, fmt::format("voice '{}': {}", id_, given.error().message)};
  }
  stage_ = Stage::kUploading;
  const Result<device::Event> event = device.record(ways_.stream);
  if (!event) return Error{event.error().status, fmt::format("voice '{}': {}", id_, event.error().message)};
  sent_ = *event;
  return {};
}

Loading::Progress Loading::await_upload(Clock::time_point deadline) {
  for (int looks = 0; !ways_.device.device.passed(*sent_); ++looks) {
    if (Clock::now() >= deadline) return Progress::kPending;
    if (looks < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kBetweenLooksAtUpload);
    }
  }
  stage_ = Stage::kReady;
  return Progress::kReady;
}

Result<cache::Lease> Loading::publish() {
  if (host_room_) {
    // The host tier's own lease goes at once; where its index has no memory the voice is in the device tier alone.
    const Result<cache::Lease> shown = ways_.host->cache.publish(std::move(*host_room_));
    host_room_.reset();
  }
  Result<cache::Lease> shown = ways_.device.cache.publish(std::move(*device_room_));
  device_room_.reset();
  return shown;
}

}  // namespace timbre::bank
