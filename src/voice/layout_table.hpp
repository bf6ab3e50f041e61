// SPDX-License-Identifier: MIT
//
// LayoutTable: equal layouts are kept once, under a number that fits a cache entry's note.
//
// Invariants
//   * A layout lives from the first hold on it to the last drop(); its number may then be another's.
//   * at() takes no lock: whoever holds a number, or a lease on an entry that does, reads what was written before it
//   got
//     the number.
//   * Numbers begin at 1; 0 is no layout.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "voice/packed_voice.hpp"

namespace timbre::voice {

/// Thread safety: all members from any thread. Memory that runs out throws std::bad_alloc, and nothing has changed.
class LayoutTable {
 public:
  LayoutTable() = default;
  LayoutTable(const LayoutTable&) = delete;
  LayoutTable& operator=(const LayoutTable&) = delete;
  ~LayoutTable();

  /// The number of this layout, with a hold on it.
  [[nodiscard]] std::uint32_t intern(PackedLayout layout);
  /// One more hold on a number that the caller holds already.
  void hold(std::uint32_t number);
  void drop(std::uint32_t number) noexcept;

  /// The layout of a number that is held.
  [[nodiscard]] const PackedLayout& at(std::uint32_t number) const noexcept { return slot(number).layout; }

  /// Layouts that are held.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Slot {
    PackedLayout layout;
    std::string key;
    std::uint64_t holds = 0;
    std::uint32_t next_free = 0;
  };
  // Block b holds kFirst << b slots, from number kFirst * (2^b - 1) + 1 on.
  static constexpr std::uint32_t kFirst = 64;
  static constexpr std::size_t kBlocks = 24;

  static std::size_t block_of(std::uint32_t number) noexcept {
    return static_cast<std::size_t>(std::bit_width((number - 1) / kFirst + 1)) - 1;
  }
  [[nodiscard]] Slot& slot(std::uint32_t number) const noexcept {
    const std::size_t block = block_of(number);
    const std::uint32_t first = kFirst * ((std::uint32_t{1} << block) - 1) + 1;
    return blocks_[block].load(std::memory_order_acquire)[number - first];
  }
  std::uint32_t take_number();

  std::array<std::atomic<Slot*>, kBlocks> blocks_{};

  mutable std::mutex mutex_;  // guards all below, and what slots hold but for a held layout
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  // keys lie in the slots
  std::uint32_t free_ = 0;
  std::uint32_t last_ = 0;
};

}  // namespace timbre::voice
