// SPDX-License-Identifier: MIT
#include "speech/speech_stream.hpp"

#include <algorithm>
#include <exception>
#include <new>

namespace timbre::speech {
namespace {

/// Short enough to be made without an allocation.
Error out_of_memory() { return {Status::kOutOfMemory, "out of memory"}; }

/// What an exception said, where there is memory to keep it.
Error described(const std::exception& exception) noexcept {
  try {
    return {Status::kInternal, exception.what()};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, std::uint64_t first, std::uint64_t limit) {
  if (first >= all.size()) return {};
  const std::uint64_t count = std::min<std::uint64_t>(limit, all.size() - first);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

SpeechStream::SpeechStream(Executor& executor, std::unique_ptr<Utterance> utterance, std::uint64_t ring_samples)
    : executor_(executor),
      ring_samples_(std::max<std::uint64_t>(ring_samples, 1)),
      rate_hz_(utterance->sample_rate_hz()),
      company_(utterance->runs_side_by_side() ? Executor::Company::kSideBySide : Executor::Company::kAlone),
      utterance_(std::move(utterance)) {}

void SpeechStream::start() { queue(); }

void SpeechStream::queue() {
  try {
    Clock::time_point due;
    {
      const std::lock_guard lock(mutex_);
      due = this->due();
    }
    if (executor_.post([self = shared_from_this()] { self->run_step(); }, due, company_)) return;
    const std::lock_guard lock(mutex_);
    end({Status::kCancelled, "the engine was destroyed"});
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    end(out_of_memory());
  }
}

/// With mutex_ held: when a listener who began with the first sample will have heard all there is, but not before one
/// who begins now has heard what waits for him. A stream without audio is due when its listener would notice.
SpeechStream::Clock::time_point SpeechStream::due() const {
  constexpr std::chrono::milliseconds kUnnoticed{50};
  if (!times_.first_audio_us) return opened_ + kUnnoticed;
  const auto playing = [this](std::uint64_t samples) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(samples) / rate_hz_));
  };
  return std::max(opened_ + std::chrono::microseconds(*times_.first_audio_us) + playing(produced_),
                  Clock::now() + playing(buffer_.size()));
}

void SpeechStream::run_step() {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kEnded) {
      utterance_.reset();
      return;
    }
    state_ = State::kRunning;
    if (!times_.queue_us) times_.queue_us = since_open();
  }
  // Nothing may leave: it would end the worker, and the host with it.
  Error failure = out_of_memory();
  try {
    if (take(utterance_->step(cancelled_))) queue();
    return;
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& exception) {
    failure = described(exception);
  }
  utterance_.reset();
  const std::lock_guard lock(mutex_);
  if (state_ != State::kEnded) end(std::move(failure));
}

/// Keeps what a step gave; true if the stream is to be queued again.
bool SpeechStream::take(Result<StepOutput> result) {
  const std::lock_guard lock(mutex_);
  progress_ = utterance_->progress();
  if (state_ == State::kEnded || !result || result->done) utterance_.reset();
  if (state_ == State::kEnded) return false;
  if (!result) {
    end(std::move(result).error());
    return false;
  }
  marks_.insert(marks_.end(), result->marks.begin(), result->marks.end());
  buffer_.insert(buffer_.end(), result->samples.begin(), result->samples.end());
  produced_ += result->samples.size();
  const std::uint64_t now = since_open();
  if (produced_ > 0 && !times_.first_audio_us) times_.first_audio_us = now;
  if (result->chunk) {
    chunks_.push_back(*result->chunk);
    chunks_.back().ready_us = now;
  }
  if (result->done) {
    done_ = true;
    state_ = State::kEnded;
    times_.total_us = now;
  } else {
    state_ = buffer_.size() >= ring_samples_ ? State::kParked : State::kQueued;
  }
  ready_.notify_all();
  return state_ == State::kQueued;
}

/// With mutex_ held.
void SpeechStream::end(Error error) {
  state_ = State::kEnded;
  error_ = std::move(error);
  buffer_.clear();
  ready_.notify_all();
}

Result<std::size_t> SpeechStream::read(std::span<float> out, std::optional<std::chrono::milliseconds> timeout,
                                       Status& status) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !buffer_.empty() || state_ == State::kEnded; };
  if (!ready() && (!timeout || timeout->count() > 0)) {
    const Clock::time_point begin = Clock::now();
    if (timeout) {
      ready_.wait_until(lock, begin + *timeout, ready);
    } else {
      ready_.wait(lock, ready);
    }
    times_.read_wait_us +=
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count());
  }
  if (!ready()) {
    status = timeout && timeout->count() > 0 ? Status::kTimeout : Status::kPending;
    return std::size_t{0};
  }
  if (error_) return *error_;
  const std::size_t count = std::min(out.size(), buffer_.size());
  std::copy_n(buffer_.begin(), count, out.begin());
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(count));
  read_ += count;
  status = count > 0 ? Status::kOk : Status::kDone;
  const bool unpark = state_ == State::kParked && buffer_.size() < ring_samples_;
  if (unpark) state_ = State::kQueued;
  lock.unlock();
  if (unpark) queue();
  return count;
}

void SpeechStream::cancel() {
  cancelled_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (error_ || (done_ && buffer_.empty())) return;
  const State before = state_;
  end({Status::kCancelled, "the utterance was cancelled"});
  if (before == State::kParked) utterance_.reset();  // no step runs or is queued: free the model's state now
}

StreamSnapshot SpeechStream::snapshot() const {
  const std::lock_guard lock(mutex_);
  StreamSnapshot now;
  now.progress = progress_;
  now.times = times_;
  now.samples_ready = buffer_.size();
  now.samples_read = read_;
  now.mark_count = marks_.size();
  if (done_) now.samples_total = produced_;
  if (error_) {
    now.state = error_->status;
  } else if (done_) {
    now.state = Status::kDone;
  }
  return now;
}

std::vector<Mark> SpeechStream::marks(std::uint64_t first, std::uint64_t limit) const {
  const std::lock_guard lock(mutex_);
  return part_of(marks_, first, limit);
}

std::vector<Chunk> SpeechStream::chunks(std::uint64_t first, std::uint64_t limit) const {
  const std::lock_guard lock(mutex_);
  return part_of(chunks_, first, limit);
}

std::uint64_t SpeechStream::since_open() const {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - opened_).count());
}

}  // namespace timbre::speech
