// SPDX-License-Identifier: MIT
//
// DelayedDevice: RAM that behaves as badly as a GPU may. Copies and events complete late, on another thread, in an
// order that only streams and order_after() determine, so that lifetime bugs of a cache show on any machine. A double
// for tests: it is slow, and its bookkeeping assumes that ordinary memory does not run out.
//
// Invariants
//   * upload() takes the host bytes when it is called; everything else happens later, each piece of work at a random
//     time, those of one stream in order.
//   * Whoever breaks the rules of a Device is written down in violations(), and late work never touches memory that was
//     freed. Order and lifetime are judged by what the caller could know, not by what happened to be done already.
//   * New runs are full of 0xFF, which is not a number in every floating-point format. Freed runs go back to the
//   system.
//
// Threads: one, named "timbre-delayed", from create() until the destructor joins it. It blocks no signals.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#endif

#include "timbre/core/result.hpp"
#include "timbre/device/delayed_order.hpp"
#include "timbre/device/delayed_queues.hpp"
#include "timbre/device/delayed_runs.hpp"
#include "timbre/device/device.hpp"
#include "timbre/device/device_script.hpp"
#include "timbre/device/host_device.hpp"

namespace timbre::device {

struct DelayedDeviceOptions {
  HostDeviceOptions memory{.name = "delayed"};
  bool host_addressable = false;             ///< what properties() says; an Address is a pointer either way
  std::chrono::microseconds max_delay{200};  ///< the longest that a piece of work waits on its own account
  std::uint64_t seed = 1;                    ///< of the delays, and of the choice among streams
};

class DelayedDevice final : public Device {
 public:
  /// Errors: those of HostDevice::create(); kOutOfMemory when there is no thread to be had.
  [[nodiscard]] static Result<std::unique_ptr<DelayedDevice>> create(DelayedDeviceOptions options);

  /// Drops the work that still waits, and frees all runs.
  ~DelayedDevice() override;

  [[nodiscard]] const Properties& properties() const noexcept override { return properties_; }
  [[nodiscard]] Result<Address> allocate(std::size_t page_count) override;
  void free(Address run, std::size_t page_count) noexcept override;

  // Error of all three, beside kIo: kInvalidArgument for bytes that are not within one run, or that overlap.
  [[nodiscard]] Result<void> upload(Address to, const void* from, std::size_t bytes, Stream stream) override;
  [[nodiscard]] Result<void> download(void* to, Address from, std::size_t bytes, Stream stream) override;
  [[nodiscard]] Result<void> copy(Address to, Address from, std::size_t bytes, Stream stream) override;

  // Error of the two that take one, beside kIo: kInvalidArgument for an event that was never recorded.
  [[nodiscard]] Result<Event> record(Stream stream) override;
  [[nodiscard]] bool passed(Event event) noexcept override;
  [[nodiscard]] Result<void> wait(Event event) override;
  [[nodiscard]] Result<void> order_after(Stream stream, Event event) override;

  [[nodiscard]] Result<MemoryReading> memory() override { return memory_->memory(); }

  /// From its return until release() the stream does nothing. Holds do not nest.
  void hold(Stream stream);
  void release(Stream stream);

  /// Waits until all work is done; then every event so far counts as seen. Error: kInvalidArgument when a held stream
  /// has work.
  [[nodiscard]] Result<void> drain();

  [[nodiscard]] std::uint64_t violation_count() const;
  [[nodiscard]] std::vector<Violation> violations() const;  ///< the first kViolationsKept of them
  static constexpr std::size_t kViolationsKept = 100;

  /// Pieces of work, events among them, that are not done.
  [[nodiscard]] std::size_t queued_count() const;

  [[nodiscard]] Result<void> set_capacity(std::uint64_t bytes) { return memory_->set_capacity(bytes); }
  [[nodiscard]] HostUsage usage() const { return memory_->usage(); }
  [[nodiscard]] DeviceScript& script() noexcept { return memory_->script(); }

 private:
  explicit DelayedDevice(const DelayedDeviceOptions& options) : queues_(options.seed, options.max_delay) {}

  [[nodiscard]] Error invalid(const std::string& what) const {
    return {Status::kInvalidArgument, properties_.name + ": " + what};
  }
  void run_worker();

  // Called with mutex_ held.
  [[nodiscard]] Result<void> give_copy(Stream stream, DelayedWork work);
  [[nodiscard]] DelayedRuns::Run* run_of(const DelayedRuns::Bytes& bytes, const DelayedWork& work);
  void note_use(DelayedRuns::Run& run, const DelayedRuns::Bytes& bytes, const DelayedWork& work, std::size_t stream);
  void report(ViolationKind kind, std::string text);
  [[nodiscard]] std::string on(std::size_t stream) const;
  void execute(std::size_t stream, std::unique_lock<std::mutex>& lock);

  std::unique_ptr<HostDevice> memory_;
  Properties properties_;
  std::thread worker_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  DelayedOrder order_;
  DelayedRuns runs_;
  DelayedQueues queues_;
  std::optional<std::size_t> running_stream_;                // its first work runs, without the lock
  std::vector<std::uint64_t> running_serials_;               // the runs that this work uses
  std::vector<std::pair<Address, std::size_t>> late_frees_;  // those of them that were freed meanwhile
  std::vector<Violation> violations_;
  std::uint64_t violation_count_ = 0;
  bool is_stopping_ = false;
};

inline Result<std::unique_ptr<DelayedDevice>> DelayedDevice::create(DelayedDeviceOptions options) {
  auto memory = HostDevice::create(options.memory);
  if (!memory) return memory.error();
  std::unique_ptr<DelayedDevice> device(new DelayedDevice(options));
  device->memory_ = std::move(*memory);
  device->properties_ = device->memory_->properties();
  device->properties_.host_addressable = options.host_addressable;
  try {
    device->worker_ = std::thread([raw = device.get()] { raw->run_worker(); });
  } catch (const std::system_error& error) {
    return Error{Status::kOutOfMemory, options.memory.name + ": no thread: " + error.what()};
  }
  return device;
}

inline DelayedDevice::~DelayedDevice() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
  for (const auto& [begin, run] : runs_.all()) memory_->free(begin, run.page_count);
}

inline Result<Address> DelayedDevice::allocate(std::size_t page_count) {
  auto run = memory_->allocate(page_count);
  if (!run) return run;
  const std::size_t bytes = page_count * properties_.page_bytes;
  std::memset(reinterpret_cast<void*>(*run), 0xFF, bytes);
  const std::lock_guard lock(mutex_);
  runs_.add(*run, page_count, bytes);
  return run;
}

inline void DelayedDevice::free(Address run, std::size_t page_count) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const std::string what = "free of " + std::to_string(page_count) + " pages at " + DelayedWork::hexadecimal(run);
    const auto removed = runs_.remove(run, page_count);
    if (!removed) return report(ViolationKind::kNoSuchRun, what + ": no such run");
    if (const auto last = DelayedRuns::unseen_use(*removed, order_)) {
      report(ViolationKind::kFreedInUse, what + ": no event after its last use was seen to pass" + on(last->stream));
    }
    if (std::count(running_serials_.begin(), running_serials_.end(), removed->serial) != 0) {
      return late_frees_.emplace_back(run, page_count), void();
    }
  }
  memory_->free(run, page_count);
}

inline Result<void> DelayedDevice::upload(Address to, const void* from, std::size_t bytes, Stream stream) {
  DelayedWork work{.kind = DelayedWork::Kind::kUpload};
  work.to = DelayedRuns::Bytes{to, bytes, true};
  const auto* first = static_cast<const unsigned char*>(from);
  if (bytes > 0) work.host_bytes.assign(first, first + bytes);
  return give_copy(stream, std::move(work));
}

inline Result<void> DelayedDevice::download(void* to, Address from, std::size_t bytes, Stream stream) {
  DelayedWork work{.kind = DelayedWork::Kind::kDownload};
  work.host_to = to;
  work.from = DelayedRuns::Bytes{from, bytes, false};
  return give_copy(stream, std::move(work));
}

inline Result<void> DelayedDevice::copy(Address to, Address from, std::size_t bytes, Stream stream) {
  if (to < from + bytes && from < to + bytes) return invalid("a copy whose ranges overlap");
  DelayedWork work{.kind = DelayedWork::Kind::kCopy};
  work.to = DelayedRuns::Bytes{to, bytes, true};
  work.from = DelayedRuns::Bytes{from, bytes, false};
  return give_copy(stream, std::move(work));
}

inline Result<void> DelayedDevice::give_copy(Stream stream, DelayedWork work) {
  if (script().copies.next_fails()) {
    return Error{Status::kIo, properties_.name + ": scripted failure of a copy"};
  }
  const std::lock_guard lock(mutex_);
  DelayedRuns::Run* const to = work.to ? run_of(*work.to, work) : nullptr;
  DelayedRuns::Run* const from = work.from ? run_of(*work.from, work) : nullptr;
  if ((work.to && to == nullptr) || (work.from && from == nullptr)) return invalid(work.describe() + ": no such run");
  if ((work.to ? work.to->count : work.from->count) == 0) return {};
  const std::size_t index = order_.index_of(stream);
  order_.give(index);
  if (to != nullptr) note_use(*to, *work.to, work, index);
  if (from != nullptr) note_use(*from, *work.from, work, index);
  work.to_serial = to != nullptr ? to->serial : 0;
  work.from_serial = from != nullptr ? from->serial : 0;
  queues_.push(index, std::move(work));
  changed_.notify_all();
  return {};
}

inline DelayedRuns::Run* DelayedDevice::run_of(const DelayedRuns::Bytes& bytes, const DelayedWork& work) {
  DelayedRuns::Run* const run = runs_.find(bytes.begin, bytes.count);
  if (run == nullptr) report(ViolationKind::kNoSuchRun, work.describe() + ": the bytes are not within one run");
  return run;
}

inline void DelayedDevice::note_use(DelayedRuns::Run& run, const DelayedRuns::Bytes& bytes, const DelayedWork& work,
                                    std::size_t stream) {
  const auto collision = runs_.use(run, {bytes, order_.last_given(stream)}, order_);
  if (!collision) return;
  report(ViolationKind::kUnordered,
         work.describe() + on(stream) + ": nothing orders it with work on the same bytes" + on(collision->stream));
}

inline Result<Event> DelayedDevice::record(Stream stream) {
  if (script().events.next_fails()) return Error{Status::kIo, properties_.name + ": scripted failure of an event"};
  const std::lock_guard lock(mutex_);
  const std::size_t index = order_.index_of(stream);
  order_.give(index);
  queues_.push(index, {.kind = DelayedWork::Kind::kEvent});
  changed_.notify_all();
  return order_.record(index);
}

inline bool DelayedDevice::passed(Event event) noexcept {
  const std::lock_guard lock(mutex_);
  if (!order_.is_done(event)) return false;
  order_.see(event);
  return true;
}

inline Result<void> DelayedDevice::wait(Event event) {
  std::unique_lock lock(mutex_);
  if (!order_.exists(event)) return invalid("wait for an event that was never recorded");
  changed_.wait(lock, [&] { return order_.is_done(event); });
  order_.see(event);
  return {};
}

inline Result<void> DelayedDevice::order_after(Stream stream, Event event) {
  if (script().events.next_fails()) return Error{Status::kIo, properties_.name + ": scripted failure of an event"};
  const std::lock_guard lock(mutex_);
  if (!order_.exists(event)) return invalid("order after an event that was never recorded");
  if (event == Event::kPassed) return {};
  const std::size_t index = order_.index_of(stream);
  order_.give(index);
  order_.order_after(index, event);
  queues_.push(index, {.kind = DelayedWork::Kind::kWait, .awaited = event});
  changed_.notify_all();
  return {};
}

inline void DelayedDevice::hold(Stream stream) {
  std::unique_lock lock(mutex_);
  const std::size_t index = order_.index_of(stream);
  queues_.set_held(index, true);
  changed_.notify_all();  // drain() looks again
  changed_.wait(lock, [&] { return running_stream_ != index; });
}

inline void DelayedDevice::release(Stream stream) {
  const std::lock_guard lock(mutex_);
  queues_.set_held(order_.index_of(stream), false);
  changed_.notify_all();
}

inline Result<void> DelayedDevice::drain() {
  std::unique_lock lock(mutex_);
  const auto is_empty = [this] { return queues_.count() == 0 && !running_stream_; };
  changed_.wait(lock, [&] { return is_empty() || queues_.stuck_stream().has_value(); });
  if (const auto stuck = queues_.stuck_stream()) return invalid("drain with held work" + on(*stuck));
  order_.see_all_done();
  return {};
}

inline std::uint64_t DelayedDevice::violation_count() const {
  const std::lock_guard lock(mutex_);
  return violation_count_;
}

inline std::vector<Violation> DelayedDevice::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

inline std::size_t DelayedDevice::queued_count() const {
  const std::lock_guard lock(mutex_);
  return queues_.count() + (running_stream_ ? 1 : 0);
}

inline void DelayedDevice::report(ViolationKind kind, std::string text) {
  ++violation_count_;
  if (violations_.size() < kViolationsKept) violations_.push_back({kind, std::move(text)});
}

inline std::string DelayedDevice::on(std::size_t stream) const {
  return " on stream " + DelayedWork::hexadecimal(static_cast<std::uintptr_t>(order_.handle(stream)));
}

inline void DelayedDevice::run_worker() {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), "timbre-delayed");
#endif
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    std::optional<DelayedQueues::Instant> next;
    if (const auto stream = queues_.ready(order_, next)) {
      execute(*stream, lock);
    } else if (next) {
      changed_.wait_until(lock, *next);
    } else {
      changed_.wait(lock);
    }
  }
}

inline void DelayedDevice::execute(std::size_t stream, std::unique_lock<std::mutex>& lock) {
  const DelayedWork work = queues_.pop(stream);
  const bool is_live = (!work.to || runs_.is_live(work.to->begin, work.to_serial)) &&
                       (!work.from || runs_.is_live(work.from->begin, work.from_serial));
  if (is_live) {
    running_stream_ = stream;
    running_serials_ = {work.to_serial, work.from_serial};
    lock.unlock();
    work.move_bytes();
    lock.lock();
    for (const auto& [run, page_count] : late_frees_) memory_->free(run, page_count);
    late_frees_.clear();
    running_serials_.clear();
    running_stream_.reset();
  } else {
    report(ViolationKind::kUseAfterFree, work.describe() + on(stream) + ": its run was freed");
  }
  order_.finish(stream);
  changed_.notify_all();
}

}  // namespace timbre::device
