// SPDX-License-Identifier: MIT
//
// Plain models (model.hpp) of LRU and S3-FIFO.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "cache/model.hpp"

namespace timbre::cache {

/// LRU by ticks. A quiet entry stands before the coldest other one, beside a quiet one, until it is used.
class LruModel : public Model {
 public:
  /// What an owner may know better than this model: whether a quiet entry was used.
  std::function<bool(EntryNumber)> quiet_used = [this](EntryNumber entry) { return rows_.at(entry).used; };

  void set_capacity(std::uint64_t /*weight*/) override {}
  void insert(const Newcomer& newcomer, std::uint32_t tick) override {
    parked_.clear();
    Row row{tick, tick, newcomer.admission == Admission::kQuiet, false};
    if (row.quiet && !rows_.empty()) {
      const EntryNumber coldest = next_victim();
      row.rank = rank(coldest) - (is_quiet(coldest) ? 0 : 1);
    }
    rows_[newcomer.entry] = row;
  }
  void use(EntryNumber entry, std::uint32_t tick) override {
    rows_.at(entry).last = tick;
    rows_.at(entry).used = true;
  }
  void erase(EntryNumber entry) override {
    rows_.erase(entry);
    parked_.erase(entry);
  }
  EntryNumber next_victim() override {
    EntryNumber coldest = kNoEntry;
    for (const auto& [entry, row] : rows_) {
      if (parked_.count(entry) == 0 && (coldest == kNoEntry || rank(entry) < rank(coldest))) coldest = entry;
    }
    if (coldest == kNoEntry) parked_.clear();
    return coldest;
  }
  void evict(EntryNumber entry) override {
    erase(entry);
    parked_.clear();
  }
  void pass_over(EntryNumber entry, std::uint32_t tick) override {
    rows_.at(entry).rank = tick;
    rows_.at(entry).quiet = false;
    parked_.insert(entry);
  }
  std::vector<EntryNumber> order() override {
    parked_.clear();
    std::vector<EntryNumber> entries;
    for (const auto& [entry, row] : rows_) entries.push_back(entry);
    std::stable_sort(entries.begin(), entries.end(), [this](auto a, auto b) { return rank(a) < rank(b); });
    return entries;
  }
  /// The entry counts as any other from now on.
  void end_quiet(EntryNumber entry) { rows_.at(entry).quiet = false; }

 private:
  struct Row {
    std::uint32_t rank;
    std::uint32_t last;
    bool quiet;
    bool used;
  };
  std::uint32_t rank(EntryNumber entry) {
    const Row& row = rows_.at(entry);
    return is_quiet(entry) ? row.rank : std::max(row.rank, row.last);
  }
  bool is_quiet(EntryNumber entry) { return rows_.at(entry).quiet && !quiet_used(entry); }
  std::map<EntryNumber, Row> rows_;
  std::set<EntryNumber> parked_;
};

/// S3-FIFO with a counter that each use raises at once.
class S3FifoModel : public Model {
 public:
  std::function<void(EntryNumber)> on_promotion = [](EntryNumber) {};

  void set_capacity(std::uint64_t weight) override {
    main_capacity_ = weight - weight / 10;
    ghost_.set_capacity(main_capacity_);
  }
  void insert(const Newcomer& newcomer, std::uint32_t /*tick*/) override {
    unpark();
    rows_[newcomer.entry] = {newcomer.tag, newcomer.weight, 0};
    const bool main = newcomer.admission == Admission::kDemand && ghost_.forget(newcomer.tag);
    (main ? main_ : small_).push_back(newcomer.entry);
  }
  void use(EntryNumber entry, std::uint32_t /*tick*/) override { ++rows_.at(entry).count; }
  void erase(EntryNumber entry) override {
    for (auto* queue : {&small_, &main_, &parked_small_, &parked_main_, &parked_order_}) queue->remove(entry);
    rows_.erase(entry);
  }
  EntryNumber next_victim() override {
    while (!small_.empty() || !main_.empty()) {
      if (small_.empty() || (weight(main_) + weight(parked_main_) > main_capacity_ && !main_.empty())) {
        return sweep_main();
      }
      while (!small_.empty()) {
        const EntryNumber entry = small_.front();
        if (rows_.at(entry).count < 2) return entry;
        small_.pop_front();
        main_.push_back(entry);
        rows_.at(entry).count = 0;
        on_promotion(entry);
      }
    }
    unpark();
    return kNoEntry;
  }
  void evict(EntryNumber entry) override {
    const bool small = in(small_, entry) || in(parked_small_, entry);
    if (small) ghost_.remember(rows_.at(entry).tag, rows_.at(entry).weight, 0);
    erase(entry);
    unpark();
  }
  void pass_over(EntryNumber entry, std::uint32_t /*tick*/) override {
    ++rows_.at(entry).count;
    (in(small_, entry) ? parked_small_ : parked_main_).push_back(entry);
    parked_order_.push_back(entry);
    small_.remove(entry);
    main_.remove(entry);
  }
  /// Evicts everything in a copy.
  std::vector<EntryNumber> order() override {
    unpark();
    S3FifoModel copy;
    copy.main_capacity_ = main_capacity_;
    copy.rows_ = rows_;
    copy.small_ = small_;
    copy.main_ = main_;
    std::vector<EntryNumber> entries;
    for (EntryNumber entry = copy.next_victim(); entry != kNoEntry; entry = copy.next_victim()) {
      entries.push_back(entry);
      copy.erase(entry);
    }
    return entries;
  }
  [[nodiscard]] bool used(EntryNumber entry) const { return rows_.at(entry).count > 0; }

 private:
  struct Row {
    std::uint32_t tag;
    std::uint64_t weight;
    std::uint32_t count;
  };
  using Queue = std::list<EntryNumber>;

  static bool in(const Queue& queue, EntryNumber entry) {
    return std::find(queue.begin(), queue.end(), entry) != queue.end();
  }
  std::uint64_t weight(const Queue& queue) const {
    std::uint64_t sum = 0;
    for (const EntryNumber entry : queue) sum += rows_.at(entry).weight;
    return sum;
  }
  EntryNumber sweep_main() {
    for (;;) {
      const EntryNumber entry = main_.front();
      Row& row = rows_.at(entry);
      if (row.count == 0) return entry;
      row.count = std::min(row.count, 3U) - 1;
      main_.pop_front();
      main_.push_back(entry);
    }
  }
  void unpark() {
    for (const EntryNumber entry : parked_order_) (in(parked_small_, entry) ? small_ : main_).push_back(entry);
    parked_small_.clear();
    parked_main_.clear();
    parked_order_.clear();
  }

  std::map<EntryNumber, Row> rows_;
  Queue small_;
  Queue main_;
  Queue parked_small_;
  Queue parked_main_;
  Queue parked_order_;
  ExactGhost ghost_;
  std::uint64_t main_capacity_ = 0;
};

}  // namespace timbre::cache
