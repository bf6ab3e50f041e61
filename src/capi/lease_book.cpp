// SPDX-License-Identifier: MIT
#include "capi/lease_book.hpp"

#include <pthread.h>

#include <cstdint>
#include <utility>

#include "capi/guard.hpp"

namespace timbre::capi {
namespace {

/// Threads differ in where they keep their own data, whatever the library; a hash of it is what a hit can afford.
std::uint32_t stripe_of_thread(std::uint32_t count) {
  const auto own = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pthread_self()));
  return static_cast<std::uint32_t>((own * 0x9E3779B97F4A7C15U) >> 32U) % count;
}

}  // namespace

LeaseBook::~LeaseBook() {
  for (std::atomic<Slot*>& chunk : chunks_) delete[] chunk.load();
}

Result<timbre_lease> LeaseBook::give(bank::VoiceLease&& lease) {
  const std::uint32_t stripe = stripe_of_thread(kStripes);
  std::uint32_t index = pop(stripes_[stripe]);
  if (index == kNone) index = refill(stripe);
  if (index == kNone) return Error{Status::kOutOfMemory, "more than a million leases are held"};
  Slot& taken = slot(index);
  taken.lease = std::move(lease);
  const std::uint32_t state = (taken.state.load(std::memory_order_relaxed) & ~(kLive | kCounted)) + 4;
  taken.state.store(state | kLive, std::memory_order_release);
  return timbre_lease{this, std::uint64_t{state >> 2U} << 32U | index};
}

Result<LeaseBook::Slot*> LeaseBook::live_slot(const timbre_lease* lease, std::uint32_t& state) {
  if (lease == nullptr || lease->owner == nullptr) return invalid("this is no lease");
  const auto& book = *static_cast<const LeaseBook*>(lease->owner);
  const auto index = static_cast<std::uint32_t>(lease->token);
  if (index >= book.made_.load(std::memory_order_acquire)) return invalid("this lease was never given");
  Slot& found = book.slot(index);
  state = found.state.load(std::memory_order_acquire);
  if ((state & kLive) == 0 || state >> 2U != lease->token >> 32U) return invalid("this lease was given back before");
  return &found;
}

Result<const bank::VoiceLease*> LeaseBook::find(const timbre_lease* lease) {
  std::uint32_t state = 0;
  const Result<Slot*> found = live_slot(lease, state);
  if (!found) return found.error();
  return &(*found)->lease;
}

Result<LeaseBook::Slot*> LeaseBook::take_slot(const timbre_lease* lease) {
  std::uint32_t state = 0;
  const Result<Slot*> found = live_slot(lease, state);
  if (!found) return found.error();
  // While this fails retire() may have counted the slot, or somebody else has given the lease back.
  while (!(*found)->state.compare_exchange_weak(state, state & ~kLive, std::memory_order_acq_rel)) {
    if ((state & kLive) == 0 || state >> 2U != lease->token >> 32U) return invalid("this lease was given back before");
  }
  return *found;
}

Result<bank::VoiceLease> LeaseBook::take(const timbre_lease* lease) {
  const Result<Slot*> taken = take_slot(lease);
  if (!taken) return taken.error();
  return std::move((*taken)->lease);
}

Result<void> LeaseBook::give_back(const timbre_lease* lease) {
  const Result<Slot*> taken = take_slot(lease);
  if (!taken) return taken.error();
  (*taken)->lease.release();
  end(*lease);
  return {};
}

void LeaseBook::end(const timbre_lease& lease) {
  auto& book = *static_cast<LeaseBook*>(lease.owner);
  const auto index = static_cast<std::uint32_t>(lease.token);
  const bool counted = (book.slot(index).state.load(std::memory_order_acquire) & kCounted) != 0;
  book.push(index);
  if (counted) book.drop_one();
}

Result<timbre_lease> LeaseBook::give_again(const bank::VoiceLease& held) {
  Result<timbre_lease> given = give(held.share());
  if (!given) return given;
  // Sequentially consistent on both sides: either this sees that the book has retired, or retire() sees the new lease.
  Slot& live = slot(static_cast<std::uint32_t>(given->token));
  live.state.fetch_or(kLive, std::memory_order_seq_cst);
  if (retired_.load(std::memory_order_seq_cst)) count(live);
  return given;
}

void LeaseBook::retire() {
  retired_.store(true, std::memory_order_seq_cst);
  for (std::uint32_t index = 0; index < made_.load(std::memory_order_acquire); ++index) count(slot(index));
  drop_one();
}

/// Once for each lease, unless it is given back meanwhile.
void LeaseBook::count(Slot& live) {
  holders_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t state = live.state.load(std::memory_order_seq_cst);
  while ((state & kLive) != 0 && (state & kCounted) == 0) {
    if (live.state.compare_exchange_weak(state, state | kCounted, std::memory_order_acq_rel)) return;
  }
  holders_.fetch_sub(1, std::memory_order_relaxed);
}

void LeaseBook::drop_one() {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

std::uint32_t LeaseBook::pop(Stripe& stripe) {
  std::uint64_t top = stripe.top.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(top) != kNone) {
    const std::uint32_t below = slot(static_cast<std::uint32_t>(top)).next.load(std::memory_order_relaxed);
    const std::uint64_t after = ((top >> 32U) + 1) << 32U | below;
    if (stripe.top.compare_exchange_weak(top, after, std::memory_order_acquire)) break;
  }
  return static_cast<std::uint32_t>(top);
}

void LeaseBook::push(std::uint32_t index) {
  Slot& given = slot(index);
  std::atomic<std::uint64_t>& stack = stripes_[given.home].top;
  std::uint64_t top = stack.load(std::memory_order_relaxed);
  do {
    given.next.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
  } while (!stack.compare_exchange_weak(top, ((top >> 32U) + 1) << 32U | index, std::memory_order_release,
                                        std::memory_order_relaxed));
}

std::uint32_t LeaseBook::refill(std::uint32_t stripe) {
  const std::lock_guard lock(grow_mutex_);
  const std::uint32_t first = made_.load(std::memory_order_relaxed);
  if (first == kChunks * kChunkSlots) return kNone;
  std::atomic<Slot*>& chunk = chunks_[first / kChunkSlots];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Slot[kChunkSlots], std::memory_order_release);
  for (std::uint32_t index = first; index < first + kRefill; ++index) slot(index).home = stripe;
  made_.store(first + kRefill, std::memory_order_release);
  for (std::uint32_t index = first + 1; index < first + kRefill; ++index) push(index);
  return first;
}

}  // namespace timbre::capi
