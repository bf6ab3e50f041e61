// SPDX-License-Identifier: MIT
//
// Plain models (model.hpp) of aged LFU and GDSF.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cache/model.hpp"

namespace timbre::cache {

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

}  // namespace timbre::cache
