// SPDX-License-Identifier: MIT
//
// HitSampler: takes the tags of a sample of the requests, without lock or allocation, for a policy that learns from
// them.
//
// Threads write to stripes of their own, chosen by a hash of the thread's id; the policy reads all stripes under the
// cache's miss lock, a bounded number of tags at a time. Requests are lost when a stripe is full or two threads write
// to one at once; nobody ever waits.
//
// Invariants
//   * Only hits whose tag is sampled write anything, and only to the stripe, which shares no cache line with another.
//   * Atomics are relaxed but for the pair that publishes a slot: `written` is stored with release, loaded with
//     acquire.
//   * Whatever racing writers leave in `written`, a reader reads no more than kSlots tags of a stripe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>

namespace timbre::cache {

class HitSampler {
 public:
  /// How many tags a stripe holds: enough for one round of a loop over as many sampled keys as a shadow has entries.
  static constexpr std::uint32_t kSlots = 2048;

  /// Whether requests for this tag are in the sample: the same answer for a hit and for a miss.
  [[nodiscard]] bool samples(std::uint32_t tag) const noexcept {
    return tag * kSpread <= last_sampled_.load(std::memory_order_relaxed);
  }

  /// A hit, from any thread.
  void record(std::uint32_t tag) noexcept {
    if (samples(tag)) put(tag);
  }

  /// Leaves a sampled tag in the calling thread's stripe; false if there is no room for it.
  bool put(std::uint32_t tag) noexcept {
    return stripes_[std::hash<std::thread::id>{}(std::this_thread::get_id()) % kStripes].put(tag);
  }

  /// Samples about one tag in `divisor` (1: all). Under the miss lock.
  void sample_one_in(double divisor) noexcept {
    constexpr double kAll = std::numeric_limits<std::uint32_t>::max();
    last_sampled_.store(static_cast<std::uint32_t>(divisor <= 1 ? kAll : kAll / divisor), std::memory_order_relaxed);
  }

  /// Gives `take(tag)` at most `limit` tags, of each thread in its order; the next call goes on. Under the miss lock.
  template <class Take>
  void drain(std::uint32_t limit, Take take) {
    for (std::size_t i = 0; i < kStripes; ++i) {
      limit -= stripes_[turn_ % kStripes].drain(limit, take);
      if (limit == 0) return;
      ++turn_;
    }
  }

 private:
  static constexpr std::size_t kStripes = 8;
  static constexpr std::uint32_t kSpread = 0x9E3779B1U;  // odd: another order of the tags, without loss

  struct alignas(64) Stripe {
    std::atomic<std::uint32_t> written{0};
    std::atomic<std::uint32_t> read{0};
    alignas(64) std::array<std::atomic<std::uint32_t>, kSlots> tags{};

    bool put(std::uint32_t tag) noexcept {
      const std::uint32_t at = written.load(std::memory_order_relaxed);
      if (at - read.load(std::memory_order_relaxed) >= kSlots) return false;
      tags[at % kSlots].store(tag, std::memory_order_relaxed);
      written.store(at + 1, std::memory_order_release);
      return true;
    }
    template <class Take>
    std::uint32_t drain(std::uint32_t limit, Take& take) {
      const std::uint32_t begin = read.load(std::memory_order_relaxed);
      const std::uint32_t waiting = written.load(std::memory_order_acquire) - begin;
      if (waiting > kSlots) {
        // A writer that was held up has set `written` back behind `read`: what is there is old.
        read.store(begin + waiting, std::memory_order_relaxed);
        return 0;
      }
      const std::uint32_t count = std::min(waiting, limit);
      for (std::uint32_t i = 0; i < count; ++i) take(tags[(begin + i) % kSlots].load(std::memory_order_relaxed));
      read.store(begin + count, std::memory_order_relaxed);
      return count;
    }
  };

  std::array<Stripe, kStripes> stripes_;
  std::size_t turn_ = 0;  // the stripe that is read next; under the miss lock
  std::atomic<std::uint32_t> last_sampled_{std::numeric_limits<std::uint32_t>::max()};
};

}  // namespace timbre::cache
