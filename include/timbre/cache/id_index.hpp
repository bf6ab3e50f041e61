// SPDX-License-Identifier: MIT
//
// IdIndex: from the hash of an id to the number of its entry, read without a lock.
//
// Open addressing with linear probing over 8-byte words: 32 bits of the hash (the tag) and the entry's number + 1; 0 is
// an empty word. A tag gives its home by a multiplication, so a table has any size and grows from its words alone.
//
// Invariants
//   * Writers hold the cache's miss lock; find() holds nothing. A word is written by one store.
//   * find() may miss what a writer is moving: every miss is looked up again under the miss lock. It never invents: a
//     candidate counts only after the entry's id was compared.
//   * A table that was outgrown gives its memory back and reads as empty; its addresses stay until destruction.
//   * At most 85 % of the words are in use; a new table has 1.125 times the words, so that memory stays near the need.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "timbre/cache/policy.hpp"
#include "timbre/core/result.hpp"
#include "timbre/device/host_pages.hpp"

namespace timbre::cache {

class IdIndex {
 public:
  /// Calls `accept(entry)` for each entry whose tag is `tag` until one is accepted. @return whether one was.
  template <typename Accept>
  bool find(std::uint32_t tag, Accept&& accept) const {
    const Table* const table = current_.load(std::memory_order_acquire);
    if (table == nullptr) return false;
    std::uint64_t at = table->home(tag);
    for (std::uint64_t probes = 0; probes < table->size; ++probes, at = table->after(at)) {
      const std::uint64_t word = table->words[at].load(std::memory_order_acquire);
      if (word == 0) return false;
      if (tag_of(word) == tag && accept(entry_of(word))) return true;
    }
    return false;
  }

  /// Asks the processor for the words that find(tag) will read.
  void prefetch(std::uint32_t tag) const {
    const Table* const table = current_.load(std::memory_order_acquire);
    if (table != nullptr) __builtin_prefetch(&table->words[table->home(tag)]);
  }

  /// Makes room for one more word, so that the next insert() cannot fail. Error: kOutOfMemory.
  [[nodiscard]] Result<void> prepare_insert() {
    const Table* const table = current_.load(std::memory_order_relaxed);
    if (table != nullptr && (used_ + 1) * 100 <= table->size * 85) return {};
    return grow(table == nullptr ? kFirstSize : table->size + table->size / 8);
  }

  void insert(std::uint32_t tag, EntryNumber entry) {
    put(*current_.load(std::memory_order_relaxed), word_of(tag, entry));
    ++used_;
  }

  /// The word of `before` becomes that of `after`, whose id is the same.
  void replace(std::uint32_t tag, EntryNumber before, EntryNumber after) {
    Table& table = *current_.load(std::memory_order_relaxed);
    table.words[place_of(table, word_of(tag, before))].store(word_of(tag, after), std::memory_order_release);
  }

  void erase(std::uint32_t tag, EntryNumber entry) {
    Table& table = *current_.load(std::memory_order_relaxed);
    std::uint64_t hole = place_of(table, word_of(tag, entry));
    // Later words of the run move up where that brings them nearer to their home: no marks of the dead stay behind.
    for (std::uint64_t at = table.after(hole);; at = table.after(at)) {
      const std::uint64_t word = table.words[at].load(std::memory_order_relaxed);
      if (word == 0) break;
      const std::uint64_t from_home = table.distance(table.home(tag_of(word)), at);
      if (from_home < table.distance(hole, at)) continue;
      table.words[hole].store(word, std::memory_order_release);
      hole = at;
    }
    table.words[hole].store(0, std::memory_order_release);
    --used_;
  }

  [[nodiscard]] std::uint64_t size() const { return used_; }
  /// Memory of the present table.
  [[nodiscard]] std::uint64_t overhead_bytes() const {
    const Table* const table = current_.load(std::memory_order_relaxed);
    return table == nullptr ? 0 : table->size * sizeof(std::uint64_t);
  }

 private:
  using Word = std::atomic<std::uint64_t>;
  static_assert(sizeof(Word) == 8 && Word::is_always_lock_free);
  static constexpr std::uint64_t kFirstSize = 64;

  struct Table {
    device::HostPages memory;
    Word* words = nullptr;
    std::uint64_t size = 0;

    [[nodiscard]] std::uint64_t home(std::uint32_t tag) const { return (tag * size) >> 32U; }
    [[nodiscard]] std::uint64_t after(std::uint64_t at) const { return at + 1 == size ? 0 : at + 1; }
    [[nodiscard]] std::uint64_t distance(std::uint64_t from, std::uint64_t to) const {
      return to >= from ? to - from : to + size - from;
    }
  };

  static std::uint64_t word_of(std::uint32_t tag, EntryNumber entry) {
    return static_cast<std::uint64_t>(tag) << 32U | (entry + 1);
  }
  static std::uint32_t tag_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); }
  static EntryNumber entry_of(std::uint64_t word) { return static_cast<EntryNumber>(word) - 1; }

  static void put(Table& table, std::uint64_t word) {
    std::uint64_t at = table.home(tag_of(word));
    while (table.words[at].load(std::memory_order_relaxed) != 0) at = table.after(at);
    table.words[at].store(word, std::memory_order_release);
  }

  static std::uint64_t place_of(const Table& table, std::uint64_t word) {
    std::uint64_t at = table.home(tag_of(word));
    while (table.words[at].load(std::memory_order_relaxed) != word) at = table.after(at);
    return at;
  }

  [[nodiscard]] Result<void> grow(std::uint64_t size) {
    auto table = std::make_unique<Table>();
    Result<device::HostPages> memory = device::HostPages::reserve(size * sizeof(Word));
    if (!memory) return std::move(memory).error();
    table->memory = std::move(*memory);
    if (Result<void> committed = table->memory.commit(0, table->memory.size()); !committed) return committed;
    table->words = static_cast<Word*>(table->memory.data());
    table->size = size;
    Table* const before = current_.load(std::memory_order_relaxed);
    for (std::uint64_t at = 0; before != nullptr && at < before->size; ++at) {
      const std::uint64_t word = before->words[at].load(std::memory_order_relaxed);
      if (word != 0) put(*table, word);
    }
    tables_.push_back(std::move(table));
    current_.store(tables_.back().get(), std::memory_order_release);
    if (before != nullptr) before->memory.decommit(0, before->memory.size());
    return {};
  }

  std::atomic<Table*> current_{nullptr};
  std::vector<std::unique_ptr<Table>> tables_;
  std::uint64_t used_ = 0;
};

}  // namespace timbre::cache
