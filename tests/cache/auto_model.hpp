// SPDX-License-Identifier: MIT
//
// Plain model (model.hpp) of `auto`, shadows and all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "cache/order_models.hpp"

namespace timbre::cache {

/// A model that holds `capacity` tags and takes in what it misses.
template <class Order>
class ModelShadow {
 public:
  explicit ModelShadow(std::uint32_t capacity) : tags_(capacity), capacity_(capacity) { order_.set_capacity(capacity); }

  bool request(std::uint32_t tag) {
    const auto found = std::find(tags_.begin(), tags_.begin() + count_, tag);
    auto entry = static_cast<EntryNumber>(found - tags_.begin());
    if (entry < count_) {
      order_.use(entry, tick_);
      return true;
    }
    ++tick_;
    if (count_ == capacity_) {
      entry = order_.next_victim();
      order_.evict(entry);
    } else {
      entry = count_++;
    }
    tags_[entry] = tag;
    order_.insert({entry, tag, 1, Admission::kDemand}, tick_);
    return false;
  }

 private:
  Order order_;
  std::vector<std::uint32_t> tags_;
  std::uint32_t capacity_;
  std::uint32_t count_ = 0;
  std::uint32_t tick_ = 0;
};

/// `auto` over a pool of one capacity, so small that the shadows see every request.
class AutoModel final : public Model {
 public:
  explicit AutoModel(std::uint32_t capacity)
      : shadow_lru_(capacity), shadow_s3_fifo_(capacity), fading_(1 - 0.6931471805599453 / (4.0 * capacity)) {
    lru_.quiet_used = [this](EntryNumber entry) { return s3_fifo_.used(entry); };
    s3_fifo_.on_promotion = [this](EntryNumber entry) { lru_.end_quiet(entry); };
  }
  void set_capacity(std::uint64_t weight) override { s3_fifo_.set_capacity(weight); }
  void insert(const Newcomer& newcomer, std::uint32_t tick) override {
    lru_.insert(newcomer, tick);
    s3_fifo_.insert(newcomer, tick);
    tags_[newcomer.entry] = newcomer.tag;
    if (newcomer.admission == Admission::kDemand) waiting_.push_back(newcomer.tag);
    for (const std::uint32_t tag : waiting_) judge(tag);
    waiting_.clear();
  }
  void use(EntryNumber entry, std::uint32_t tick) override {
    lru_.use(entry, tick);
    s3_fifo_.use(entry, tick);
    waiting_.push_back(tags_.at(entry));
  }
  void erase(EntryNumber entry) override {
    lru_.erase(entry);
    s3_fifo_.erase(entry);
  }
  EntryNumber next_victim() override { return leader().next_victim(); }
  void evict(EntryNumber entry) override {
    lru_.evict(entry);
    s3_fifo_.evict(entry);
  }
  void pass_over(EntryNumber entry, std::uint32_t tick) override { leader().pass_over(entry, tick); }
  std::vector<EntryNumber> order() override { return leader().order(); }
  [[nodiscard]] std::uint32_t changes() const { return changes_; }

 private:
  Model& leader() { return lru_leads_ ? static_cast<Model&>(lru_) : s3_fifo_; }
  void judge(std::uint32_t tag) {
    const int difference = (shadow_lru_.request(tag) ? 1 : 0) - (shadow_s3_fifo_.request(tag) ? 1 : 0);
    requests_ = requests_ * fading_ + 1;
    lead_ = lead_ * fading_ + difference;
    if (++seen_ <= 500) return;
    const bool before = lru_leads_;
    if (lead_ > 0.01 * requests_) lru_leads_ = true;
    if (lead_ < -0.01 * requests_) lru_leads_ = false;
    changes_ += lru_leads_ == before ? 0 : 1;
  }
  LruModel lru_;
  S3FifoModel s3_fifo_;
  ModelShadow<LruModel> shadow_lru_;
  ModelShadow<S3FifoModel> shadow_s3_fifo_;
  std::map<EntryNumber, std::uint32_t> tags_;
  std::vector<std::uint32_t> waiting_;
  double fading_;
  double requests_ = 0;
  double lead_ = 0;
  std::uint64_t seen_ = 0;
  std::uint32_t changes_ = 0;
  bool lru_leads_ = false;
};

}  // namespace timbre::cache
