// SPDX-License-Identifier: MIT
//
// Locks of the open file description: unlike the process's, they exclude two stores in one process, and closing another
// descriptor of the file does not drop them.
#include "store/write_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace timbre::store {
namespace {

constexpr off_t kWriter = 0;
constexpr off_t kQueue = 1;
constexpr std::chrono::microseconds kFirstSleep{50};
constexpr std::chrono::microseconds kLongestSleep{1000};
constexpr std::chrono::milliseconds kWayForOthers{2};

struct flock byte_lock(short type, off_t at) {
  struct flock wanted {};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = at;
  wanted.l_len = 1;
  return wanted;
}

bool set_lock(int descriptor, short type, off_t at) {
  struct flock wanted = byte_lock(type, at);
  while (fcntl(descriptor, F_OFD_SETLK, &wanted) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

/// Whether another store waits.
bool has_queue(int descriptor) {
  struct flock wanted = byte_lock(F_WRLCK, kQueue);
  return fcntl(descriptor, F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

}  // namespace

Result<std::unique_ptr<WriteLock>> WriteLock::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return Error{Status::kIo, fmt::format("{}: {}", path, std::strerror(errno))};
  return std::unique_ptr<WriteLock>(new WriteLock(path, descriptor));
}

WriteLock::~WriteLock() { close(descriptor_); }

Result<WriteLock::Hold> WriteLock::take(Clock::time_point deadline) {
  {
    std::unique_lock lock(mutex_);
    if (!left_.wait_until(lock, deadline, [this] { return !is_inside_; })) {
      return Error{Status::kTimeout, fmt::format("{}: another thread held the write lock until the deadline", path_)};
    }
    is_inside_ = true;
  }
  if (Result<void> taken = take_file(deadline); !taken) {
    leave();
    return std::move(taken).error();
  }
  was_inside_ = true;
  return Hold(*this);
}

Result<void> WriteLock::take_file(Clock::time_point deadline) {
  if (was_inside_ && has_queue(descriptor_)) std::this_thread::sleep_for(kWayForOthers);
  if (set_lock(descriptor_, F_WRLCK, kWriter)) return {};
  const bool is_queued = set_lock(descriptor_, F_RDLCK, kQueue);
  Result<void> taken;
  for (std::chrono::microseconds sleep = kFirstSleep; !set_lock(descriptor_, F_WRLCK, kWriter);) {
    if (errno != EAGAIN && errno != EACCES) {
      taken = Error{Status::kIo, fmt::format("{}: {}", path_, std::strerror(errno))};
      break;
    }
    if (Clock::now() >= deadline) {
      taken = Error{Status::kTimeout, fmt::format("{}: another process held the write lock until the deadline", path_)};
      break;
    }
    std::this_thread::sleep_for(sleep);
    sleep = std::min(sleep * 2, kLongestSleep);
  }
  if (is_queued) set_lock(descriptor_, F_UNLCK, kQueue);
  return taken;
}

void WriteLock::free() {
  set_lock(descriptor_, F_UNLCK, kWriter);
  leave();
}

void WriteLock::leave() {
  {
    const std::lock_guard lock(mutex_);
    is_inside_ = false;
  }
  left_.notify_one();
}

}  // namespace timbre::store
