// SPDX-License-Identifier: MIT
#include "bank/use_sketch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <thread>

#include "timbre/core/hash.hpp"

namespace timbre::bank {
namespace {

constexpr std::uint64_t kSeed = 0x7F4A7C159E3779B9U;
constexpr std::size_t kCountersInWord = 16;

}  // namespace

UseSketch::UseSketch(std::size_t voices)
    : counter_mask_(std::bit_ceil(std::max<std::size_t>(voices, kTop) * 4) - 1),
      words_(std::make_unique<std::atomic<std::uint64_t>[]>((counter_mask_ + 1) / kCountersInWord)),  // NOLINT
      candidates_(new Candidate[kTop]) {}                                                             // NOLINT

/// Distances between draws are random, so that no order of requests can hide a voice.
bool UseSketch::draw() noexcept {
  thread_local std::uint32_t left = 0;
  thread_local std::uint32_t state = 0;
  if (left-- != 0) return false;
  if (state == 0) state = static_cast<std::uint32_t>(std::hash<std::thread::id>{}(std::this_thread::get_id())) | 1U;
  state ^= state << 13U;
  state ^= state >> 17U;
  state ^= state << 5U;
  left = state % (2 * kOneIn - 1);
  return true;
}

std::size_t UseSketch::counter_of(std::uint64_t hash, std::size_t row) const noexcept {
  const std::uint64_t step = hash >> 32U | 1U;
  return static_cast<std::size_t>((hash + row * step) & counter_mask_);
}

std::uint32_t UseSketch::estimate_of(std::uint64_t hash) const noexcept {
  std::uint64_t least = kCounter;
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t counter = counter_of(hash, row);
    const std::uint64_t word = words_[counter / kCountersInWord].load(std::memory_order_relaxed);
    least = std::min(least, word >> counter % kCountersInWord * 4 & kCounter);
  }
  return static_cast<std::uint32_t>(least);
}

std::uint32_t UseSketch::estimate(std::string_view id) const noexcept { return estimate_of(hash_bytes(id, kSeed)); }

std::uint32_t UseSketch::add(std::uint64_t hash) noexcept {
  const std::uint32_t least = estimate_of(hash);
  if (least == kCounter) return least;
  for (std::size_t row = 0; row < kRows; ++row) {  // only the smallest counters: they are what is read
    const std::size_t counter = counter_of(hash, row);
    const std::size_t shift = counter % kCountersInWord * 4;
    std::atomic<std::uint64_t>& word = words_[counter / kCountersInWord];
    std::uint64_t there = word.load(std::memory_order_relaxed);
    if ((there >> shift & kCounter) != least) continue;
    word.compare_exchange_strong(there, there + (std::uint64_t{1} << shift), std::memory_order_relaxed);
  }
  return least + 1;
}

void UseSketch::count(std::string_view id) noexcept {
  if (id.empty() || id.size() > cache::kMaxIdBytes) return;
  const std::uint64_t hash = hash_bytes(id, kSeed);
  const std::uint32_t estimated = add(hash);
  const bool is_full = counted_.fetch_add(1, std::memory_order_relaxed) >= counter_mask_;
  if (!is_full && estimated < entry_price_.load(std::memory_order_relaxed)) return;
  if (list_taken_.test_and_set(std::memory_order_acquire)) return;  // a hit waits for nobody
  offer(id, hash, estimated);
  if (is_full) halve();
  list_taken_.clear(std::memory_order_release);
}

void UseSketch::offer(std::string_view id, std::uint64_t hash, std::uint32_t estimated) noexcept {
  const auto end = hashes_.begin() + static_cast<std::ptrdiff_t>(candidate_count_);
  auto at = std::find(hashes_.begin(), end, hash);
  if (at != end) {
    ++candidates_[static_cast<std::size_t>(at - hashes_.begin())].count;
    return;
  }
  std::size_t slot = candidate_count_;
  if (candidate_count_ < kTop) {
    ++candidate_count_;
  } else {
    const auto fewer = [](const Candidate& a, const Candidate& b) { return a.count < b.count; };
    slot = static_cast<std::size_t>(std::min_element(candidates_.get(), candidates_.get() + kTop, fewer) -
                                    candidates_.get());
    const std::uint32_t least = candidates_[slot].count;
    entry_price_.store(std::min<std::uint32_t>(least + 1, kCounter), std::memory_order_relaxed);
    if (estimated <= least) return;
  }
  Candidate& entered = candidates_[slot];
  entered.hash = hashes_[slot] = hash;
  entered.count = estimated;
  entered.id_bytes = static_cast<std::uint16_t>(id.size());
  std::memcpy(entered.id.data(), id.data(), id.size());
}

void UseSketch::halve() noexcept {
  constexpr std::uint64_t kThreeBits = 0x7777777777777777U;
  for (std::size_t i = 0; i <= counter_mask_ / kCountersInWord; ++i) {
    std::atomic<std::uint64_t>& word = words_[i];
    word.store(word.load(std::memory_order_relaxed) >> 1U & kThreeBits, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < candidate_count_; ++i) candidates_[i].count /= 2;
  entry_price_.store(0, std::memory_order_relaxed);
  counted_.store(0, std::memory_order_relaxed);
}

void UseSketch::seed(std::string_view id, std::uint32_t count) noexcept {
  if (count == 0 || id.empty() || id.size() > cache::kMaxIdBytes) return;
  const std::uint64_t hash = hash_bytes(id, kSeed);
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(count, kCounter); ++i) add(hash);
  while (list_taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  offer(id, hash, count);
  list_taken_.clear(std::memory_order_release);
}

std::vector<std::pair<std::string, std::uint32_t>> UseSketch::counts(std::size_t limit) const {
  std::vector<Candidate> candidates(kTop);
  while (list_taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  std::copy_n(candidates_.get(), candidate_count_, candidates.begin());
  candidates.resize(candidate_count_);
  list_taken_.clear(std::memory_order_release);
  std::vector<std::pair<std::string, std::uint32_t>> found;
  for (const Candidate& candidate : candidates) {
    found.emplace_back(std::string(candidate.id.data(), candidate.id_bytes), candidate.count);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (found.size() > limit) found.resize(limit);
  return found;
}

std::vector<std::string> UseSketch::top(std::size_t limit) const {
  std::vector<std::string> ids;
  for (auto& [id, count] : counts(limit)) ids.push_back(std::move(id));
  return ids;
}

}  // namespace timbre::bank
