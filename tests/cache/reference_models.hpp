// SPDX-License-Identifier: MIT
//
// The policies once more, in plain code that looks at every entry for every answer: no heap, no links, no laziness
// where the policy is lazy for speed alone. The policy test asks both and compares each answer.
//
// What counts as the same: ticks are misses, ties go to the lower entry number, a passed-over entry is not proposed
// again until something is evicted or inserted or all were passed over. Bounds on the effort of one search are not
// modelled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "timbre/cache/policy.hpp"

namespace timbre::cache {

/// What a model knows of an entry from the start.
struct Newcomer {
  EntryNumber entry;
  std::uint32_t tag;
  std::uint64_t weight;
  Admission admission;
};

/// A policy that is told of each use at once.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;
  virtual void set_capacity(std::uint64_t weight) = 0;
  virtual void insert(const Newcomer& newcomer, std::uint32_t tick) = 0;
  virtual void use(EntryNumber entry, std::uint32_t tick) = 0;
  virtual void erase(EntryNumber entry) = 0;
  virtual EntryNumber next_victim() = 0;
  virtual void evict(EntryNumber entry) = 0;
  virtual void pass_over(EntryNumber entry, std::uint32_t tick) = 0;
  virtual std::vector<EntryNumber> order() = 0;
};

/// Tags in order of eviction, the oldest forgotten for room: the ghost that GhostTable stands for.
class ExactGhost {
 public:
  void set_capacity(std::uint64_t weight) {
    capacity_ = weight;
    make_room(0);
  }
  void remember(std::uint32_t tag, std::uint64_t weight, std::uint64_t /*expected*/) {
    if (weight > capacity_) return;
    forget(tag);
    make_room(weight);
    tags_.emplace_back(tag, weight);
    held_ += weight;
  }
  bool forget(std::uint32_t tag) {
    const auto found = std::find_if(tags_.begin(), tags_.end(), [&](const auto& ghost) { return ghost.first == tag; });
    if (found == tags_.end()) return false;
    held_ -= found->second;
    tags_.erase(found);
    return true;
  }
  [[nodiscard]] static std::uint64_t memory_bytes() { return 0; }

 private:
  void make_room(std::uint64_t weight) {
    while (!tags_.empty() && held_ + weight > capacity_) {
      held_ -= tags_.front().second;
      tags_.pop_front();
    }
  }
  std::deque<std::pair<std::uint32_t, std::uint64_t>> tags_;
  std::uint64_t held_ = 0;
  std::uint64_t capacity_ = 0;
};

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

/// What LFU and GDSF share: the least key goes, and an entry's key is put right when it is the least.
template <class Key>
class KeyModel : public Model {
 public:
  void use(EntryNumber entry, std::uint32_t /*tick*/) override { ++rows_.at(entry).waiting; }
  void erase(EntryNumber entry) override { rows_.erase(entry); }
  EntryNumber next_victim() override {
    for (;;) {
      EntryNumber least = kNoEntry;
      for (const auto& [entry, row] : rows_) {
        if (!row.parked && (least == kNoEntry || row.key < rows_.at(least).key)) least = entry;
      }
      if (least == kNoEntry) unpark();
      if (least == kNoEntry || !take(least)) return least;
    }
  }
  void evict(EntryNumber entry) override {
    erase(entry);
    unpark();
  }
  std::vector<EntryNumber> order() override {
    unpark();
    std::vector<EntryNumber> entries;
    for (auto& [entry, row] : rows_) {
      take(entry);
      entries.push_back(entry);
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [this](auto a, auto b) { return rows_.at(a).key < rows_.at(b).key; });
    return entries;
  }

 protected:
  struct Row {
    Key key = 0;
    std::uint64_t weight = 1;
    std::uint32_t waiting = 0;  // uses that its key does not count yet
    std::uint32_t uses = 0;     // uses that it counts
    bool parked = false;
  };
  /// Counts the waiting uses into the key; false if there are none.
  virtual bool take(EntryNumber entry) = 0;
  void unpark() {
    for (auto& [entry, row] : rows_) row.parked = false;
  }
  std::map<EntryNumber, Row> rows_;
};

/// Aged LFU. Keys are floats as the policy's are, and all of them are divided when the policy's are.
class LfuModel final : public KeyModel<float> {
 public:
  EntryNumber next_victim() override {
    divide();
    return KeyModel::next_victim();
  }
  void set_capacity(std::uint64_t weight) override { capacity_ = weight; }
  void insert(const Newcomer& newcomer, std::uint32_t /*tick*/) override {
    unpark();
    divide();
    if (newcomer.admission == Admission::kQuiet) next_victim();
    rows_[newcomer.entry].weight = newcomer.weight;
    std::uint64_t held = 0;
    for (const auto& [entry, row] : rows_) held += row.weight;
    const double holds = static_cast<double>(capacity_) * static_cast<double>(rows_.size()) / static_cast<double>(held);
    const std::uint64_t period = 10 * static_cast<std::uint64_t>(std::max(1.0, holds));
    if (newcomer.admission == Admission::kDemand) ++requests_;
    for (; requests_ >= period; requests_ -= period) ++epoch_;
    worth_ = std::ldexp(1.0F + static_cast<float>(requests_) / static_cast<float>(period), epoch_);
    if (newcomer.admission == Admission::kDemand) rows_[newcomer.entry].key = worth_;
    if (!turn_.empty()) {
      take(turn_.front());
      turn_.push_back(newcomer.entry);
      std::rotate(turn_.begin(), turn_.begin() + 1, turn_.end());
    } else {
      turn_.push_back(newcomer.entry);
    }
  }
  void erase(EntryNumber entry) override {
    KeyModel::erase(entry);
    turn_.erase(std::find(turn_.begin(), turn_.end(), entry));
  }
  void pass_over(EntryNumber entry, std::uint32_t /*tick*/) override {
    rows_.at(entry).key += worth_;
    rows_.at(entry).parked = true;
  }

 private:
  bool take(EntryNumber entry) override {
    Row& row = rows_.at(entry);
    const std::uint32_t uses = std::exchange(row.waiting, 0);
    requests_ += uses;
    row.key += static_cast<float>(uses) * worth_;
    return uses != 0;
  }
  void divide() {
    if (epoch_ < 64) return;
    for (auto& [entry, row] : rows_) row.key = std::ldexp(row.key, -64);
    worth_ = std::ldexp(worth_, -64);
    epoch_ -= 64;
  }
  std::vector<EntryNumber> turn_;
  std::uint64_t capacity_ = 0;
  std::uint64_t requests_ = 0;
  int epoch_ = 0;
  float worth_ = 1;
};

class GdsfModel final : public KeyModel<double> {
 public:
  void set_capacity(std::uint64_t /*weight*/) override {}
  void insert(const Newcomer& newcomer, std::uint32_t /*tick*/) override {
    unpark();
    if (newcomer.admission == Admission::kQuiet) next_victim();
    Row& row = rows_[newcomer.entry];
    row.weight = newcomer.weight;
    row.uses = newcomer.admission == Admission::kDemand ? 1 : 0;
    row.key = key(row);
  }
  void evict(EntryNumber entry) override {
    inflation_ = std::max(inflation_, rows_.at(entry).key);
    KeyModel::evict(entry);
  }
  void pass_over(EntryNumber entry, std::uint32_t /*tick*/) override {
    Row& row = rows_.at(entry);
    ++row.uses;
    row.key = std::max(row.key, key(row));
    row.parked = true;
  }

 private:
  [[nodiscard]] double key(const Row& row) const {
    return inflation_ + row.uses * (1.0 / static_cast<double>(row.weight));
  }
  bool take(EntryNumber entry) override {
    Row& row = rows_.at(entry);
    if (row.waiting == 0) return false;
    row.uses += std::exchange(row.waiting, 0);
    row.key = std::max(row.key, key(row));
    return true;
  }
  double inflation_ = 0;
};

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
