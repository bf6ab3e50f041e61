// SPDX-License-Identifier: MIT
#include "capi/store_keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace timbre::capi {
namespace {

constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kSqlite = "sqlite:";
constexpr std::chrono::seconds kBetweenUses{60};
constexpr std::uint64_t kSeedOfFirst = 15;  // so that an old favourite is soon overtaken

}  // namespace

Result<void> check_address(std::string_view address) {
  if (address == kMemory) return {};
  if (address == kSqlite) return Error{Status::kInvalidArgument, "store 'sqlite:' names no file"};
  if (address.starts_with(kSqlite)) return {};
  return Error{Status::kUnsupported,
               fmt::format("store '{}': this version keeps voices in 'memory:' or 'sqlite:PATH'", address)};
}

Result<std::unique_ptr<StoreKeeper>> StoreKeeper::open(const KeeperOptions& options) {
  if (Result<void> checked = check_address(options.address); !checked) return std::move(checked).error();
  std::unique_ptr<StoreKeeper> keeper(new StoreKeeper(options));
  if (options.address == kMemory) {
    keeper->kept_ = std::make_unique<store::MemoryStore>();
    return keeper;
  }
  store::SqliteOptions library;
  library.path = options.address.substr(kSqlite.size());
  Result<std::unique_ptr<store::SqliteStore>> opened = store::SqliteStore::open(library);
  if (!opened) return std::move(opened).error();
  keeper->library_ = opened->get();
  keeper->kept_ = std::move(*opened);
  keeper->overlay_ = std::make_unique<store::OverlayStore>(*keeper->kept_);
  keeper->next_uses_ = bank::Clock::now() + kBetweenUses;
  keeper->last_look_ = bank::Clock::now();
  return keeper;
}

void StoreKeeper::work(bank::VoiceBank& bank, bank::Clock::time_point deadline) {
  if (!is_shared()) return;
  look(bank);
  if (!is_preheated_.exchange(true)) preheat(bank, deadline);
  if (Result<void> done = kept_->maintain(); !done) note_failure(done.error());
  bool is_time = false;
  {
    const std::lock_guard lock(mutex_);
    is_time = bank::Clock::now() >= next_uses_;
    if (is_time) next_uses_ = bank::Clock::now() + kBetweenUses;
  }
  if (is_time) keep_uses(bank);
}

void StoreKeeper::look(bank::VoiceBank& bank) {
  if (is_suspect_.exchange(false)) bank.invalidate_all();
  const Result<store::Changes> changes = kept_->changes();
  if (!changes) return note_failure(changes.error());
  try {
    if (changes->is_everything) bank.invalidate_all();
    for (const std::string& id : changes->ids) bank.invalidate(id);
  } catch (...) {  // out of memory: the store does not tell them again
    is_suspect_.store(true);
    throw;
  }
  changes_.fetch_add(changes->ids.size(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  last_look_ = bank::Clock::now();
  last_failure_.clear();
}

void StoreKeeper::preheat(bank::VoiceBank& bank, bank::Clock::time_point deadline) {
  Result<std::vector<store::UseCount>> most = kept_->most_used(bank::UseSketch::kTop);
  if (!most) return note_failure(most.error());
  if (most->empty()) return;
  const std::uint64_t first = std::max<std::uint64_t>(most->front().count, 1);
  std::vector<std::string_view> ids;
  {
    const std::lock_guard lock(mutex_);
    for (store::UseCount& use : *most) {
      use.count = std::max<std::uint64_t>(use.count * kSeedOfFirst / first, 1);
      kept_uses_[use.id] = use.count;
      if (ids.size() < options_.preheat_count) ids.push_back(use.id);
    }
  }
  bank.seed_uses(*most);
  const bank::PrefetchReport report = bank.prefetch(ids, deadline);
  if (report.first_error && report.first_error->status != Status::kNotFound) note_failure(*report.first_error);
}

void StoreKeeper::keep_uses(bank::VoiceBank& bank) {
  if (!is_shared()) return;
  std::vector<store::UseCount> more;
  {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::uint64_t> now;
    for (store::UseCount& use : bank.uses()) {
      const auto found = kept_uses_.find(use.id);
      const std::uint64_t before = found == kept_uses_.end() ? 0 : found->second;
      if (use.count > before) more.push_back({use.id, use.count - before});
      now.emplace(std::move(use.id), use.count);
    }
    kept_uses_ = std::move(now);
  }
  if (more.empty()) return;
  if (Result<void> added = store().add_uses(more); !added) note_failure(added.error());
}

/// The same failure is told once until a look succeeds.
void StoreKeeper::note_failure(const Error& error) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(last_failure_, error.message) == error.message) return;
  }
  if (options_.warning) options_.warning("the store: " + error.message);
}

KeeperFacts StoreKeeper::facts() const {
  KeeperFacts facts;
  if (library_ != nullptr) facts.library = library_->stats();
  facts.changes = changes_.load(std::memory_order_relaxed);
  facts.failures = failures_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (is_shared()) facts.last_look = last_look_;
  return facts;
}

}  // namespace timbre::capi
