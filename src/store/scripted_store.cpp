// SPDX-License-Identifier: MIT
#include "store/scripted_store.hpp"

#include <utility>

namespace timbre::store {

class ScriptedStore::Load final : public VoiceLoad {
 public:
  Load(ScriptedStore& store, std::string_view id, bool may_block, std::optional<Error> failure)
      : store_(store), id_(id), may_block_(may_block), failure_(std::move(failure)) {}

  Result<std::optional<StoredVoice>> pump(Deadline deadline) override {
    if (!answer_) {
      const std::chrono::nanoseconds latency(store_.latency_ns_.load());
      if (latency.count() > 0) end_ = std::chrono::steady_clock::now() + latency;
      answer_ = failure_ ? Result<StoredVoice>(std::move(*failure_)) : store_.read(id_);
      const std::lock_guard lock(store_.mutex_);
      ++store_.read_count_;
      store_.changed_.notify_all();
    }
    std::unique_lock lock(store_.mutex_);
    if (may_block_ && !store_.changed_.wait_until(lock, deadline, [this] { return !store_.blocked_; })) {
      return std::optional<StoredVoice>();
    }
    const bool late = end_ > deadline;
    store_.changed_.wait_until(lock, std::min(end_, deadline), [] { return false; });
    if (late) return std::optional<StoredVoice>();
    if (!*answer_) return std::move(*answer_).error();
    return std::optional<StoredVoice>(std::move(**answer_));
  }

 private:
  ScriptedStore& store_;
  std::string id_;
  bool may_block_;
  std::optional<Error> failure_;
  std::optional<Result<StoredVoice>> answer_;
  Deadline end_{};
};

Result<std::unique_ptr<VoiceLoad>> ScriptedStore::begin_load(std::string_view id) {
  ++begin_count_;
  const std::lock_guard lock(mutex_);
  std::optional<Error> failure;
  if (!load_failures_.empty()) {
    failure = std::move(load_failures_.front());
    load_failures_.pop_front();
  }
  return std::unique_ptr<VoiceLoad>(std::make_unique<Load>(*this, id, blocked_, std::move(failure)));
}

Result<StoredVoice> ScriptedStore::read(std::string_view id) { return voices_.read(id); }

Result<Version> ScriptedStore::put(std::string_view id, voice::VoiceRecord record, std::optional<Expected> expected) {
  const std::optional<WriteFailure> failure = next_write_failure();
  if (failure && !failure->written) return failure->error;
  Result<Version> version = voices_.put(id, std::move(record), expected);
  if (failure) return failure->error;
  return version;
}

Result<void> ScriptedStore::remove(std::string_view id) {
  const std::optional<WriteFailure> failure = next_write_failure();
  if (failure && !failure->written) return failure->error;
  Result<void> removed = voices_.remove(id);
  if (failure) return failure->error;
  return removed;
}

void ScriptedStore::fail_next_load(Error error) {
  const std::lock_guard lock(mutex_);
  load_failures_.push_back(std::move(error));
}

void ScriptedStore::fail_next_write(Error error, bool written) {
  const std::lock_guard lock(mutex_);
  write_failures_.push_back({std::move(error), written});
}

std::optional<ScriptedStore::WriteFailure> ScriptedStore::next_write_failure() {
  const std::lock_guard lock(mutex_);
  if (write_failures_.empty()) return std::nullopt;
  WriteFailure failure = std::move(write_failures_.front());
  write_failures_.pop_front();
  return failure;
}

void ScriptedStore::wait_for_reads(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return read_count_.load() >= count; });
}

void ScriptedStore::set_blocked(bool blocked) {
  const std::lock_guard lock(mutex_);
  blocked_ = blocked;
  changed_.notify_all();
}

}  // namespace timbre::store
