// SPDX-License-Identifier: MIT
#include "bank/lease_table.hpp"

#include <new>
#include <utility>

namespace timbre::bank {

LeaseTable::~LeaseTable() {
  for (std::atomic<Slot*>& block : blocks_) delete[] block.load(std::memory_order_relaxed);
}

LeaseTable::Slot* LeaseTable::slot(std::uint64_t number) const {
  const auto block = static_cast<std::size_t>(std::bit_width(number / kFirst + 1)) - 1;
  if (block >= kBlocks) return nullptr;
  Slot* const slots = blocks_[block].load(std::memory_order_acquire);
  return slots == nullptr ? nullptr : slots + (number - kFirst * ((std::uint64_t{1} << block) - 1));
}

LeaseTable::Stripe& LeaseTable::own_stripe() {
  static std::atomic<std::uint32_t> next{0};
  thread_local std::uint32_t mine = UINT32_MAX;
  if (mine == UINT32_MAX) mine = next.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return stripes_[mine];
}

/// @return number + 1 of a slot that is the caller's now, or 0.
std::uint32_t LeaseTable::pop(Stripe& stripe) {
  std::uint64_t head = stripe.head.load(std::memory_order_acquire);
  while (true) {
    const auto first = static_cast<std::uint32_t>(head & kIndexMask);
    if (first == 0) return 0;
    const std::uint32_t next = slot(first - 1)->next.load(std::memory_order_relaxed);
    const std::uint64_t changed = ((head >> kIndexBits) + 1) << kIndexBits | next;
    if (stripe.head.compare_exchange_weak(head, changed, std::memory_order_acquire)) return first;
  }
}

/// Puts a chain of free slots in front. @param first  number + 1.
void LeaseTable::push(Stripe& stripe, std::uint32_t first, Slot& last) {
  std::uint64_t head = stripe.head.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    last.next.store(static_cast<std::uint32_t>(head & kIndexMask), std::memory_order_relaxed);
    changed = ((head >> kIndexBits) + 1) << kIndexBits | first;
  } while (!stripe.head.compare_exchange_weak(head, changed, std::memory_order_release, std::memory_order_relaxed));
}

bool LeaseTable::grow() {
  const std::lock_guard lock(mutex_);
  if (block_count_ == kBlocks) return false;
  const std::uint32_t count = kFirst << block_count_;
  const std::uint32_t first = kFirst * ((std::uint32_t{1} << block_count_) - 1);
  auto* const slots = new (std::nothrow) Slot[count];
  if (slots == nullptr) return false;
  for (std::uint32_t i = 0; i + 1 < count; ++i) slots[i].next.store(first + i + 2, std::memory_order_relaxed);
  blocks_[block_count_++].store(slots, std::memory_order_release);
  push(own_stripe(), first + 1, slots[count - 1]);
  return true;
}

Result<LeaseTable::Token> LeaseTable::put(VoiceLease& lease) {
  std::uint32_t taken = pop(own_stripe());
  while (taken == 0) {
    for (Stripe& stripe : stripes_) {
      if ((taken = pop(stripe)) != 0) break;
    }
    if (taken == 0 && !grow()) return Error{Status::kOutOfMemory, "no room for another lease"};
  }
  Slot& filled = *slot(taken - 1);
  filled.lease = std::move(lease);
  const std::uint64_t generation = filled.use.load(std::memory_order_relaxed) >> 1U;
  filled.use.store(generation << 1U | 1U, std::memory_order_release);
  return token_of(taken - 1, generation);
}

Result<VoiceLease> LeaseTable::take(Token token) {
  Slot* const emptied = slot(token & kIndexMask);
  const std::uint64_t generation = token >> kIndexBits;
  std::uint64_t expected = generation << 1U | 1U;
  const std::uint64_t next = (generation + 1) % (std::uint64_t{1} << (64 - kIndexBits));
  if (emptied == nullptr ||
      !emptied->use.compare_exchange_strong(expected, (next == 0 ? 1 : next) << 1U, std::memory_order_acq_rel)) {
    return Error{Status::kInvalidArgument, "this lease was released before, or never given"};
  }
  VoiceLease lease = std::move(emptied->lease);
  push(own_stripe(), static_cast<std::uint32_t>(token & kIndexMask) + 1, *emptied);
  return lease;
}

const VoiceLease* LeaseTable::find(Token token) const {
  const Slot* const found = slot(token & kIndexMask);
  if (found == nullptr) return nullptr;
  const bool is_live = found->use.load(std::memory_order_acquire) == ((token >> kIndexBits) << 1U | 1U);
  return is_live ? &found->lease : nullptr;
}

std::uint64_t LeaseTable::size() const {
  std::uint64_t live = 0;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const Slot* const slots = blocks_[block].load(std::memory_order_acquire);
    for (std::uint32_t i = 0; slots != nullptr && i < kFirst << block; ++i) {
      live += slots[i].use.load(std::memory_order_relaxed) & 1U;
    }
  }
  return live;
}

}  // namespace timbre::bank
