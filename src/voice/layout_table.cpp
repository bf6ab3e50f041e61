// SPDX-License-Identifier: MIT
#include "voice/layout_table.hpp"

#include <new>
#include <utility>

namespace timbre::voice {

LayoutTable::~LayoutTable() {
  for (std::atomic<Slot*>& block : blocks_) delete[] block.load(std::memory_order_relaxed);
}

std::uint32_t LayoutTable::intern(PackedLayout layout) {
  std::string key = layout_key(layout);
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(key); found != numbers_.end()) {
    ++slot(found->second).holds;
    return found->second;
  }
  const std::uint32_t number = take_number();
  Slot& taken = slot(number);
  taken.key.swap(key);
  try {
    numbers_.emplace(taken.key, number);
  } catch (...) {
    taken.key.clear();
    taken.next_free = std::exchange(free_, number);
    throw;
  }
  taken.layout = std::move(layout);
  taken.holds = 1;
  return number;
}

std::uint32_t LayoutTable::take_number() {
  if (free_ != 0) return std::exchange(free_, slot(free_).next_free);
  const std::uint32_t number = last_ + 1;
  const std::size_t block = block_of(number);
  if (block >= kBlocks) throw std::bad_alloc();
  if (blocks_[block].load(std::memory_order_relaxed) == nullptr) {
    blocks_[block].store(new Slot[std::size_t{kFirst} << block], std::memory_order_release);
  }
  return last_ = number;
}

void LayoutTable::hold(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  ++slot(number).holds;
}

void LayoutTable::drop(std::uint32_t number) noexcept {
  const std::lock_guard lock(mutex_);
  Slot& dropped = slot(number);
  if (--dropped.holds != 0) return;
  numbers_.erase(dropped.key);
  dropped.key = {};
  dropped.layout = {};
  dropped.next_free = std::exchange(free_, number);
}

std::size_t LayoutTable::size() const {
  const std::lock_guard lock(mutex_);
  return numbers_.size();
}

}  // namespace timbre::voice
