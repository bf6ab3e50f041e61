// SPDX-License-Identifier: MIT
//
// `auto`: S3-FIFO or LRU, whichever hits more at present.
//
// Two shadow caches without values see a sample of the requests, hits and misses alike; one works by LRU, one by
// S3-FIFO. When one of them is ahead by more than one point in a hundred, it chooses the victims of the pool. Both
// orders are kept for every entry all the time, so that a change of mind moves nothing.
//
// The sample is a share of the tags, not of the requests, and the shadows are as much smaller than the pool as it is;
// up to 2,048 entries they are as large as the pool and see everything. Older requests count less: half after 4 x the
// shadow's size further ones.
//
// Invariants
//   * Every entry is in the queues of S3-FIFO (words a and b of its node) and in the heap of LRU (word c).
//   * Which order chooses changes only in insert(), so that a victim is proposed, passed over or evicted by one of
//   them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>

#include "timbre/cache/hit_sampler.hpp"
#include "timbre/cache/lru.hpp"
#include "timbre/cache/s3_fifo.hpp"
#include "timbre/cache/shadow_cache.hpp"

namespace timbre::cache {

/// Which of two policies hits more, by shadows.
/// @tparam Ghost  as S3Order wants it.
template <class Ghost>
class PolicyContest {
 public:
  static constexpr std::uint32_t kMostEntries = 2048;

  [[nodiscard]] bool lru_leads() const { return lru_leads_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

  /// The size of each shadow, >= 1. Throws std::bad_alloc.
  void set_capacity(std::uint32_t entries) {
    lru_.set_capacity(entries);
    s3_fifo_.set_capacity(entries);
    fading_ = 1.0 - kLogOfTwo / (kHalfLifeSizes * entries);
    capacity_ = entries;
  }

  /// A request of the sample. Throws std::bad_alloc.
  void request(std::uint32_t tag) {
    const int difference = static_cast<int>(lru_.request(tag)) - static_cast<int>(s3_fifo_.request(tag));
    requests_ = requests_ * fading_ + 1;
    lead_ = lead_ * fading_ + difference;
    if (seen_ < kFewestRequests) {
      ++seen_;
    } else if (lru_leads_ ? lead_ < -kMargin * requests_ : lead_ > kMargin * requests_) {
      lru_leads_ = !lru_leads_;
    }
  }

  [[nodiscard]] std::uint64_t memory_bytes() const { return lru_.memory_bytes() + s3_fifo_.memory_bytes(); }

 private:
  struct LruOrder : LazyHeap<LruRule<TakenUses>> {
    explicit LruOrder(PolicyEntries& entries) : LazyHeap(entries, {entries, TakenUses(entries)}) {}
    void set_capacity(std::uint64_t /*weight*/) {}
  };
  static constexpr double kLogOfTwo = 0.6931471805599453;
  static constexpr double kHalfLifeSizes = 4;
  static constexpr double kMargin = 0.01;
  static constexpr std::uint32_t kFewestRequests = 500;

  ShadowCache<LruOrder> lru_;
  ShadowCache<S3Order<Ghost>> s3_fifo_;
  std::uint32_t capacity_ = 0;
  double fading_ = 0;
  double requests_ = 0;  // in the sample; older ones count less
  double lead_ = 0;      // hits of LRU less hits of S3-FIFO, counted as the requests are
  std::uint32_t seen_ = 0;
  bool lru_leads_ = false;
};

/// @tparam Ghost  as S3Order wants it.
template <class Ghost>
class AutoPolicyWith final : public Policy {
 public:
  explicit AutoPolicyWith(PolicyEntries& entries)
      : entries_(entries), queues_(entries), heap_(entries, {entries, CountedUses(queues_)}) {}

  void set_capacity(std::uint64_t weight) override { queues_.set_capacity(weight); }

  void insert(EntryNumber entry, Admission admission) override {
    heap_.insert(entry, admission);
    queues_.insert(entry, admission);
    try {
      fit_contest();
      // The miss joins the hits of its thread, so that their order is kept.
      const std::uint32_t tag = entries_.tag(entry);
      const bool asked = admission == Admission::kDemand && sampler_.samples(tag);
      if (asked && !sampler_.put(tag)) contest_.request(tag);
      sampler_.drain(kMostDrained, [this](std::uint32_t taken) { contest_.request(taken); });
    } catch (const std::bad_alloc&) {
      // The contest stands still; the entry is in.
    }
  }

  void erase(EntryNumber entry) override {
    heap_.erase(entry);
    queues_.erase(entry);
  }

  [[nodiscard]] EntryNumber next_victim() override {
    return contest_.lru_leads() ? heap_.next_victim() : queues_.next_victim();
  }

  void evict(EntryNumber entry) override {
    heap_.evict(entry);
    queues_.evict(entry);
  }

  void pass_over(EntryNumber entry) override {
    if (contest_.lru_leads()) {
      heap_.pass_over(entry);
    } else {
      queues_.pass_over(entry);
    }
  }

  void walk(const std::function<bool(EntryNumber)>& visit) override {
    if (contest_.lru_leads()) {
      heap_.walk(visit);
    } else {
      queues_.walk(visit);
    }
  }

  [[nodiscard]] std::uint64_t ghost_hits() const override { return queues_.ghost_hits(); }
  [[nodiscard]] HitSampler* sampler() override { return &sampler_; }
  [[nodiscard]] bool lru_leads() const { return contest_.lru_leads(); }
  [[nodiscard]] std::uint64_t overhead_bytes() const override {
    return heap_.memory_bytes() + queues_.memory_bytes() + contest_.memory_bytes() + sizeof(sampler_);
  }

 private:
  /// Uses as the queues count them: an entry's count can be taken only once, and the queues need it.
  class CountedUses {
   public:
    explicit CountedUses(S3Order<Ghost>& queues) : queues_(&queues) {}
    bool used(EntryNumber entry) const { return queues_->take_uses(entry) != 0; }

   private:
    S3Order<Ghost>* queues_;
  };

  // How many sampled requests one miss pays for: some 50 microseconds.
  static constexpr std::uint32_t kMostDrained = 256;

  /// Gives the shadows the size of the pool, or as much of it as is worth while, and samples in proportion.
  void fit_contest() {
    const std::uint64_t entries = std::max<std::uint64_t>(1, queues_.expected_entries());
    if (entries >= fitted_ - fitted_ / 8 && entries <= fitted_ + fitted_ / 8) return;
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, PolicyContest<Ghost>::kMostEntries));
    if (size != contest_.capacity()) contest_.set_capacity(size);
    sampler_.sample_one_in(static_cast<double>(entries) / size);
    fitted_ = entries;
  }

  PolicyEntries& entries_;
  S3Order<Ghost> queues_;
  LazyHeap<LruRule<CountedUses>> heap_;
  PolicyContest<Ghost> contest_;
  HitSampler sampler_;
  std::uint64_t fitted_ = 0;  // entries of the pool when the shadows got their size
};

using AutoPolicy = AutoPolicyWith<GhostTable>;

}  // namespace timbre::cache
