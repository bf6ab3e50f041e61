// SPDX-License-Identifier: MIT
//
// Room: finds device memory for new entries inside the budget, and gives memory back: eviction and compaction.
//
// The budget counts pages that the pools hold. Each pool has a share; a pool may hold more than its share as long as
// the other does not want it, and is the first to lose when it does. A page of rows is given back by compaction: the
// surviving rows are copied into free rows of other pages of their class while their entries are exclusive, so that
// only lookups of these few entries wait, and the miss lock is free meanwhile.
//
// Invariants
//   * A leased row keeps its page, and with it the page's bytes: that is the floor of every shrink.
//   * An eviction that makes no room for what is asked is not done, except for rows on the way to a whole page, and for
//     unused blobs beside blobs in use that turn out to leave too little.
//   * A copy whose end the device cannot tell leaves the entries where they are; its page stays closed and its new rows
//     taken until the device can.
// All members are called with the core's lock held; those that take it as an argument may let go of it and take it
// again.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "timbre/cache/cache_core.hpp"
#include "timbre/cache/pool_shares.hpp"

namespace timbre::cache {

class Room {
 public:
  using Lock = std::unique_lock<std::mutex>;

  explicit Room(CacheCore& core) : core_(core), page_bytes_(core.device.properties().page_bytes) {}

  /// A place for `bytes` (>= 1) owned by `owner`, inside the budget. Nothing when all that could go is in use, or the
  /// device fails with nothing left to evict.
  [[nodiscard]] std::optional<Place> find(Lock& lock, std::uint64_t bytes, EntryNumber owner) {
    if (core_.rows.knows_owners() && ++finds_since_move_ > core_.table.in_use()) core_.rows.end_owners();
    return pool_for(bytes) == Pool::kRows ? find_row(lock, bytes, owner) : find_blob(lock, bytes);
  }

  [[nodiscard]] Pool pool_for(std::uint64_t bytes) const {
    return bytes <= core_.rows.max_row_bytes() ? Pool::kRows : Pool::kBlobs;
  }

  /// Gives pages back until the pools hold at most `limit_bytes`, coldest entries first. @return what they hold then:
  /// more than the limit where leases hold it.
  std::uint64_t shrink(Lock& lock, std::uint64_t limit_bytes, EvictionCause cause) {
    Pass pass;
    while (held_bytes() > limit_bytes) {
      if (reclaim_page(lock, pass)) continue;
      const bool rows_can_give = pass.held_pages < core_.rows.page_count();
      Pool from = shares.larger(core_.rows.held_bytes(), core_.blobs.held_bytes());
      if (from == Pool::kRows && !rows_can_give) from = Pool::kBlobs;
      if (evict_one(from, cause)) continue;
      if ((from == Pool::kBlobs && !rows_can_give) || !evict_one(other(from), cause)) break;
    }
    return held_bytes();
  }

  [[nodiscard]] std::uint64_t held_bytes() const { return core_.rows.held_bytes() + core_.blobs.held_bytes(); }

  /// The largest entry that would come in without an eviction, in bytes. A device that maps pages is taken to have what
  /// the budget allows; contiguous memory is tried.
  [[nodiscard]] std::uint64_t largest_free_bytes() const {
    const std::uint64_t budget = shares.budget_bytes();
    std::uint64_t pages = held_bytes() < budget ? (budget - held_bytes()) / page_bytes_ : 0;
    if (!core_.device.properties().maps_pages) pages = core_.blobs.longest_free_run(pages);
    if (pages > 0) return pages * page_bytes_;
    return core_.rows.largest_free_row_bytes();
  }

  /// Before the pools go: waits for the copies whose end was not told.
  void wait_for_copies() {
    for (Unsettled& copies : unsettled_) {
      if (has_end(copies)) static_cast<void>(core_.device.wait(*copies.end));
    }
  }

  PoolShares shares;
  std::uint64_t moved_rows = 0;

 private:
  /// What one search has found out: classes with a page's worth of free rows, all of whose pages hold a lease.
  struct Pass {
    std::vector<std::uint32_t> held_classes;
    std::uint64_t held_pages = 0;
  };

  [[nodiscard]] bool fits(std::uint64_t pages) const {
    return held_bytes() + pages * page_bytes_ <= shares.budget_bytes();
  }

  std::optional<Place> find_row(Lock& lock, std::uint64_t bytes, EntryNumber owner) {
    const std::uint32_t size_class = RowPool::class_of(bytes);
    Pass pass;
    while (true) {
      if (const std::optional<RowPool::Row> row = core_.rows.take(size_class, owner)) {
        return Place::of_row(row->page, row->row, RowPool::row_bytes(size_class) - bytes);
      }
      if (fits(1) && core_.rows.add_page(size_class).ok()) continue;
      if (!make_room(lock, pass, Pool::kRows, 1)) return std::nullopt;
    }
  }

  std::optional<Place> find_blob(Lock& lock, std::uint64_t bytes) {
    const std::uint64_t pages = core_.blobs.pages_for(bytes);
    if (pages * page_bytes_ > shares.budget_bytes()) return std::nullopt;
    Pass pass;
    while (true) {
      if (fits(pages)) {
        if (const Result<std::uint32_t> blob = core_.blobs.take(bytes, false)) return Place::of_blob(*blob);
        if (!device_could_hold(pages)) return std::nullopt;
      }
      if (!make_room(lock, pass, Pool::kBlobs, pages)) return std::nullopt;
    }
  }

  /// Whether the device is large enough at all, as far as it tells: else everything would be evicted for nothing.
  [[nodiscard]] bool device_could_hold(std::uint64_t pages) const {
    const Result<device::MemoryReading> memory = core_.device.memory();
    return !memory || memory->total_bytes == 0 || pages * page_bytes_ <= memory->total_bytes;
  }

  /// One step towards `pages`, or a row, for `pool`: a page is given back or an entry evicted.
  bool make_room(Lock& lock, Pass& pass, Pool pool, std::uint64_t pages) {
    if (reclaim_page(lock, pass)) return true;
    const Pool from = shares.loser(pool, core_.rows.held_bytes(), core_.blobs.held_bytes());
    if (evict_one(from, EvictionCause::kRoom)) return true;
    // What blobs hold now is in use: where that leaves too little, the rows would go for nothing.
    if (from == Pool::kBlobs && core_.blobs.held_bytes() + pages * page_bytes_ > shares.budget_bytes()) return false;
    return evict_one(other(from), EvictionCause::kRoom);
  }

  /// The first entry in the policy's order that is not in use goes.
  bool evict_one(Pool pool, EvictionCause cause) {
    PoolState& state = core_.pool(pool);
    for (std::uint64_t tries = state.entries; tries > 0; --tries) {
      EntryNumber victim = state.policy->next_victim();
      if (victim == kNoEntry) victim = state.policy->next_victim();  // all had been passed over: now they are not
      if (victim == kNoEntry) return false;
      if (core_.evict(victim, cause)) return true;
      state.policy->pass_over(victim);
    }
    return false;
  }

  /// Gives back a page of a class whose free rows are as many as a page has.
  bool reclaim_page(Lock& lock, Pass& pass) {
    for (std::uint32_t c = core_.rows.next_spare_class(0); c != RowPool::kClassCount;
         c = core_.rows.next_spare_class(c + 1)) {
      if (std::find(pass.held_classes.begin(), pass.held_classes.end(), c) != pass.held_classes.end()) continue;
      const std::optional<bool> done = reclaim_page_of(lock, c);
      if (done.value_or(false)) return true;
      if (done) continue;  // a copy failed: perhaps not the next time
      pass.held_classes.push_back(c);
      pass.held_pages += core_.rows.page_count(c);
    }
    return false;
  }

  /// The sparsest of the first pages with free rows that no lease holds; else any page of the class. @return as
  /// try_sparsest().
  std::optional<bool> reclaim_page_of(Lock& lock, std::uint32_t size_class) {
    std::vector<std::uint32_t> pages;
    const RowPool& rows = core_.rows;
    std::uint32_t next = rows.first_open_page(size_class);
    for (; next != kNoPage && pages.size() < kLookedAt; next = rows.page(next).next) pages.push_back(next);
    if (std::optional<bool> done = try_sparsest(lock, pages)) return done;
    pages.clear();
    for (std::uint32_t page = 0; page < rows.page_numbers(); ++page) {
      const RowPool::Page& other_page = rows.page(page);
      if (other_page.base == 0 || other_page.closed) continue;
      if (other_page.row_bytes == RowPool::row_bytes(size_class)) pages.push_back(page);
    }
    return try_sparsest(lock, pages);
  }

  /// @return whether a page went, false where a copy failed; nothing where all of these are in use.
  std::optional<bool> try_sparsest(Lock& lock, std::vector<std::uint32_t>& pages) {
    std::sort(pages.begin(), pages.end(), [this](std::uint32_t a, std::uint32_t b) {
      return core_.rows.page(a).live_rows < core_.rows.page(b).live_rows;
    });
    const bool may_copy = settle();
    for (const std::uint32_t page : pages) {
      if (core_.rows.page(page).live_rows > 0) {
        if (!may_copy || !learn_owners()) return false;
      }
      std::vector<Move> moves;
      if (begin_moves(page, moves)) return finish_moves(lock, page, moves);
    }
    return std::nullopt;
  }

  /// Finds the owners of all rows, unless they are known. They are forgotten when no row has moved for as many inserts
  /// as there are entries, so that finding them again costs each of these a constant. @return false without memory.
  [[nodiscard]] bool learn_owners() {
    finds_since_move_ = 0;
    if (core_.rows.knows_owners()) return true;
    if (!core_.rows.begin_owners()) return false;
    for (EntryNumber number = 0; number < core_.table.end(); ++number) {
      const Place place = core_.table[number].place;
      if (place.id_bytes == 0 || place.blob) continue;  // an entry without an id has no place yet
      core_.rows.set_owner({static_cast<std::uint32_t>(place.page), static_cast<std::uint32_t>(place.row)}, number);
    }
    return true;
  }

  struct Move {
    EntryNumber entry = kNoEntry;
    EntryUse before;
    RowPool::Row from;
    RowPool::Row to;
  };

  /// Makes every entry of a page exclusive and takes another row for it. @return false and nothing has changed where an
  /// entry is in use.
  bool begin_moves(std::uint32_t number, std::vector<Move>& moves) {
    const RowPool::Page& page = core_.rows.page(number);
    moves.reserve(page.live_rows);
    for (std::uint32_t row = 0; row < page.row_count; ++row) {
      const EntryNumber owner = core_.rows.owner(number, row);
      if (owner == kNoEntry) continue;
      Move move{owner, {}, {number, row}, {}};
      if (owner == RowPool::kUnknownOwner ||
          !core_.table[owner].word.try_exclusive(EntryState::kVisible, move.before)) {
        for (const Move& done : moves) core_.table[done.entry].word.store(done.before);
        return false;
      }
      moves.push_back(move);
      TIMBRE_CACHE_STEP();
    }
    core_.rows.close(number);
    const std::uint32_t size_class = RowPool::class_of(page.row_bytes);
    for (Move& move : moves) move.to = *core_.rows.take(size_class, move.entry);
    return true;
  }

  /// Copies without the lock, then shows the entries in their new place and gives the page back. Where a copy fails
  /// they stay where they are.
  bool finish_moves(Lock& lock, std::uint32_t page, const std::vector<Move>& moves) {
    CopyEnd end = CopyEnd::kCopied;
    if (!moves.empty()) {
      lock.unlock();
      end = copy(moves);
      TIMBRE_CACHE_STEP();
      lock.lock();
    }
    const bool copied = end == CopyEnd::kCopied;
    if (end == CopyEnd::kUnknown) unsettled_.push_back({page, {}, {}});
    for (const Move& move : moves) {
      Entry& entry = core_.table[move.entry];
      if (copied) {
        entry.place.set_row(move.to.page, move.to.row);
        core_.rows.set_owner(move.to, move.entry);  // owners may have been found anew meanwhile
      }
      if (end == CopyEnd::kUnknown) {
        core_.rows.set_owner(move.to, RowPool::kUnknownOwner);
        unsettled_.back().rows.push_back(move.to);
      } else {
        core_.rows.give(copied ? move.from : move.to);
      }
      entry.word.store(move.before);
      TIMBRE_CACHE_STEP();
    }
    if (copied) {
      core_.rows.remove_page(page);
      moved_rows += moves.size();
    } else if (end == CopyEnd::kFailed) {
      core_.rows.reopen(page);
    }
    if (!moves.empty()) core_.moved.notify_all();
    return copied;
  }

  struct Unsettled {
    std::uint32_t page = kNoPage;    // closed
    std::vector<RowPool::Row> rows;  // of unknown owners
    std::optional<device::Event> end;
  };

  /// Whether there is an event after the copies; records one where there was none.
  bool has_end(Unsettled& copies) {
    if (copies.end) return true;
    const Result<device::Event> end = core_.device.record(kCopyStream);
    if (end) copies.end = *end;
    return end.ok();
  }

  /// Gives back what copies still held whose end was not told, where it is told now. @return whether nothing is left.
  bool settle() {
    std::erase_if(unsettled_, [this](Unsettled& copies) {
      if (!has_end(copies) || !core_.device.passed(*copies.end)) return false;
      for (const RowPool::Row& row : copies.rows) core_.rows.give(row);
      core_.rows.reopen(copies.page);
      return true;
    });
    return unsettled_.empty();
  }

  enum class CopyEnd : std::uint8_t {
    kCopied,
    kFailed,   ///< not all was copied, and nothing is any more
    kUnknown,  ///< copies may still read and write
  };

  CopyEnd copy(const std::vector<Move>& moves) {
    bool good = true;
    for (const Move& move : moves) {
      const std::size_t bytes = core_.rows.page(move.from.page).row_bytes;
      good = good && core_.device
                         .copy(core_.rows.address(move.to.page, move.to.row),
                               core_.rows.address(move.from.page, move.from.row), bytes, kCopyStream)
                         .ok();
    }
    // Also after a failure: the copies before it still read and write.
    const Result<device::Event> end = core_.device.record(kCopyStream);
    if (!end.ok() || !core_.device.wait(*end).ok()) return CopyEnd::kUnknown;
    return good ? CopyEnd::kCopied : CopyEnd::kFailed;
  }

  static constexpr std::size_t kLookedAt = 64;
  static constexpr device::Stream kCopyStream = device::Stream::kDefault;

  CacheCore& core_;
  std::uint64_t page_bytes_;
  std::vector<Unsettled> unsettled_;
  std::uint64_t finds_since_move_ = 0;
};

}  // namespace timbre::cache
