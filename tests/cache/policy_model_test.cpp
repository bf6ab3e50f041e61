// SPDX-License-Identifier: MIT
//
// Each policy against its plain model, operation by operation, over seeded random operations: requests with demand and
// quiet misses, entries in use that are passed over, removals, changes of capacity, searches that come to nothing,
// walks.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cache/auto_model.hpp"
#include "cache/key_models.hpp"
#include "cache/order_models.hpp"
#include "cache/short_form.hpp"
#include "cache/simulated_entries.hpp"
#include "cache/workloads.hpp"

namespace timbre::cache {
namespace {

/// What the random operations are like.
struct Play {
  std::uint64_t capacity;
  std::uint32_t keys;
  std::uint64_t heaviest = 1;
  bool capacity_changes = true;
};

/// A policy and its model, told the same. Every answer is compared.
class Duel {
 public:
  Duel(SimulatedEntries& entries, Policy& policy, Model& model, const Play& play, std::uint32_t stream)
      : entries_(entries), policy_(policy), model_(model), play_(play), words_(stream), zipf_(play.keys) {
    set_capacity(play.capacity);
  }

  void step() {
    const std::uint32_t choice = words_.below(100);
    if (choice < 80) {
      request(next_key());
    } else if (choice < 84) {
      for (std::uint32_t i = words_.below(4); i > 0; --i) use_one();
    } else if (choice < 88) {
      erase_one();
    } else if (choice < 90) {
      compare(policy_.next_victim(), model_.next_victim());
    } else if (choice < 92) {
      walk();
    } else if (choice < 94) {
      search_in_vain();
    } else if (choice < 95 && play_.capacity_changes) {
      set_capacity((play_.capacity + 1) / 2 + words_.below(static_cast<std::uint32_t>(play_.capacity)));
    } else {
      ++entries_.tick;  // a miss whose load failed
    }
  }

  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }

 private:
  /// Popular keys, runs that never come again, and a loop, in turn: each policy has its day.
  std::uint64_t next_key() {
    const std::uint64_t phase = requests_++ / 3000 % 3;
    if (phase == 1 && words_.one_in(2)) return kVisitors + requests_;
    if (phase == 2) return requests_ % (play_.capacity * 5 / 4 / play_.heaviest + 1);
    return zipf_.draw(words_);
  }

  static void compare(EntryNumber policy, EntryNumber model) {
    if (policy != model) FAIL("the policy says " << policy << ", the model " << model);
  }

  void set_capacity(std::uint64_t capacity) {
    capacity_ = capacity;
    policy_.set_capacity(capacity);
    model_.set_capacity(capacity);
    make_room(0);
  }

  void use(EntryNumber entry) {
    entries_.use(entry);
    model_.use(entry, entries_.tick);
    if (HitSampler* sampler = policy_.sampler()) sampler->record(entries_.entries[entry].tag);
  }

  void request(std::uint64_t key) {
    const auto found = index_.find(key);
    if (found != index_.end()) return use(found->second);
    ++entries_.tick;
    const std::uint64_t weight = 1 + (play_.heaviest == 1 ? 0 : tag_of(~key) % play_.heaviest);
    if (!make_room(weight)) return;
    const EntryNumber entry = free_entry();
    entries_.entries[entry] = {{}, 0, entries_.tick, tag_of(key), weight};
    keys_[entry] = key;
    index_[key] = entry;
    held_ += weight;
    const Admission admission = words_.one_in(8) ? Admission::kQuiet : Admission::kDemand;
    policy_.insert(entry, admission);
    model_.insert({entry, tag_of(key), weight, admission}, entries_.tick);
  }

  /// Evicts until `weight` fits; one victim in eight is in use. False when all that is left is.
  bool make_room(std::uint64_t weight) {
    while (held_ + weight > capacity_) {
      const EntryNumber victim = policy_.next_victim();
      compare(victim, model_.next_victim());
      if (victim == kNoEntry) return false;
      if (words_.one_in(8)) {
        if (words_.one_in(2)) use(victim);
        policy_.pass_over(victim);
        model_.pass_over(victim, entries_.tick);
        continue;
      }
      policy_.evict(victim);
      model_.evict(victim);
      ++evictions_;
      forget(victim);
    }
    return true;
  }

  /// Passes over a few proposals and gives up; they come back with the next insert or eviction.
  void search_in_vain() {
    for (std::uint32_t i = words_.below(6); i > 0; --i) {
      const EntryNumber victim = policy_.next_victim();
      compare(victim, model_.next_victim());
      if (victim == kNoEntry) return;
      policy_.pass_over(victim);
      model_.pass_over(victim, entries_.tick);
    }
  }

  void use_one() {
    if (!index_.empty()) use(any_entry());
  }
  void erase_one() {
    if (index_.empty()) return;
    const EntryNumber entry = any_entry();
    policy_.erase(entry);
    model_.erase(entry);
    forget(entry);
  }
  EntryNumber any_entry() {
    for (;;) {
      const auto entry = static_cast<EntryNumber>(words_.below(static_cast<std::uint32_t>(keys_.size())));
      const auto found = index_.find(keys_[entry]);
      if (found != index_.end() && found->second == entry) return entry;
    }
  }

  void walk() {
    std::vector<EntryNumber> seen;
    const std::size_t most = words_.one_in(2) ? index_.size() : words_.below(4);
    policy_.walk([&](EntryNumber entry) {
      seen.push_back(entry);
      return seen.size() < most;
    });
    std::vector<EntryNumber> order = model_.order();
    order.resize(std::min(order.size(), std::max<std::size_t>(most, 1)));
    if (seen != order) FAIL("the walk differs from the model's order");
  }

  EntryNumber free_entry() {
    if (free_.empty()) {
      free_.push_back(static_cast<EntryNumber>(keys_.size()));
      entries_.entries.emplace_back();
      keys_.push_back(0);
    }
    const EntryNumber entry = free_.back();
    free_.pop_back();
    return entry;
  }
  void forget(EntryNumber entry) {
    held_ -= entries_.entries[entry].weight;
    index_.erase(keys_[entry]);
    entries_.entries[entry] = {{77, 77, 77}, 99, 0, 0, 1000};  // nobody looks at it any more
    free_.push_back(entry);
  }

  SimulatedEntries& entries_;
  Policy& policy_;
  Model& model_;
  Play play_;
  WordStream words_;
  Zipf zipf_;
  std::unordered_map<std::uint64_t, EntryNumber> index_;
  std::vector<std::uint64_t> keys_;
  std::vector<EntryNumber> free_;
  std::uint64_t capacity_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t evictions_ = 0;
};

template <class PolicyType, class ModelType>
void duel(const std::vector<Play>& plays, std::uint32_t streams = std::getenv("TIMBRE_TEST_FULL") == nullptr ? 1 : 10) {
  for (std::uint32_t i = 0; i < plays.size() * streams; ++i) {
    const Play& play = plays[i % plays.size()];
    INFO("capacity " << play.capacity << ", weights up to " << play.heaviest << ", stream " << 100 + i);
    SimulatedEntries entries;
    PolicyType policy(entries);
    ModelType model;
    Duel duel(entries, policy, model, play, 100 + i);
    for (std::size_t step = short_form("operations", 40'000, 20'000); step > 0; --step) duel.step();
    CHECK(duel.evictions() > 500);
  }
}

const std::vector<Play> kPlays = {{1, 8}, {12, 40}, {60, 400}, {4000, 400, 200}};

}  // namespace

TEST_CASE("LRU does what its plain model does", "[cache][policy][lru]") { duel<Lru, LruModel>(kPlays); }

TEST_CASE("aged LFU does what its plain model does", "[cache][policy][lfu]") { duel<Lfu, LfuModel>(kPlays); }

TEST_CASE("GDSF does what its plain model does", "[cache][policy][gdsf]") { duel<Gdsf, GdsfModel>(kPlays); }

TEST_CASE("S3-FIFO does what its plain model does", "[cache][policy][s3fifo]") {
  duel<S3FifoWith<ExactGhost>, S3FifoModel>(kPlays);
}

TEST_CASE("S3-FIFO with its ghost table does what its plain model does", "[cache][policy][s3fifo]") {
  // Up to 13 tags the table is one set, and exact but for strange tags of a remembered one's fingerprint: this stream
  // has none.
  duel<S3Fifo, S3FifoModel>({{1, 8}, {12, 40}}, 1);
}

TEST_CASE("auto does what its plain model does, whichever policy leads", "[cache][policy][auto]") {
  const Play play{12, 40, 1, false};
  SimulatedEntries entries;
  AutoPolicyWith<ExactGhost> policy(entries);
  AutoModel model(12);
  Duel duel(entries, policy, model, play, 99);
  // Not longer: sooner or later a strange tag has a remembered one's fingerprint, and the exact ghost of the model
  // knows.
  for (std::size_t step = short_form("operations", 40'000, 20'000); step > 0; --step) duel.step();
  CHECK(duel.evictions() > 500);
  CHECK(model.changes() >= 2);
}

}  // namespace timbre::cache
