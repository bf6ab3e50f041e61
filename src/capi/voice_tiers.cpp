// SPDX-License-Identifier: MIT
#include "capi/voice_tiers.hpp"

#include <random>

#include "bank/system_memory.hpp"

namespace timbre::capi {
namespace {

// Rows of up to a quarter of a page share pages: 64 KiB, the largest that the cache takes for a row.
constexpr std::size_t kPageBytes = std::size_t{256} << 10U;
constexpr std::chrono::milliseconds kReadingRest{1000};  // the governor reads as often
constexpr std::chrono::milliseconds kLookRest{250};      // so soon others' writes are seen
constexpr std::uint64_t kUnknownTotalBytes = std::uint64_t{64} << 30U;

std::uint64_t random_word() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

}  // namespace

Result<std::shared_ptr<VoiceTiers>> VoiceTiers::make(const TiersOptions& options) {
  std::shared_ptr<VoiceTiers> tiers(new VoiceTiers);
  Result<std::unique_ptr<StoreKeeper>> keeper = StoreKeeper::open(options.store);
  if (!keeper) return std::move(keeper).error();
  tiers->keeper_ = std::move(*keeper);
  auto memory = std::make_unique<bank::SystemMemory>();
  const Result<device::MemoryReading> reading = memory->read();
  device::HostDeviceOptions host;
  host.capacity_bytes = reading && reading->total_bytes > 0 ? reading->total_bytes : kUnknownTotalBytes;
  host.page_bytes = kPageBytes;
  host.name = "cpu";
  Result<std::unique_ptr<device::HostDevice>> made = device::HostDevice::create(host);
  if (!made) return std::move(made).error();
  tiers->device_ = std::move(*made);
  bank::BankOptions bank;
  bank.device.device = tiers->device_.get();
  bank.device.cache.rows = bank.device.cache.blobs = options.policy;
  bank.device.cache.hash_seed = random_word();
  tiers->bank_ = std::make_unique<bank::VoiceBank>(bank, tiers->keeper_->store());
  bank::GovernorOptions governor;
  if (options.device_cache_bytes) governor.budget.cap_bytes = *options.device_cache_bytes;
  Result<std::unique_ptr<bank::Governor>> governed =
      bank::Governor::create(tiers->bank_->device_tier().cache, std::move(memory), governor);
  if (!governed) return std::move(governed).error();
  tiers->governor_ = std::move(*governed);
  tiers->source_ =
      std::make_unique<bank::LeaseSource>(*tiers->bank_, tiers->wait_until(bank::Clock::time_point::max()));
  return tiers;
}

bool VoiceTiers::work(bank::Clock::time_point deadline) {
  governor_->tick();
  keeper_->work(*bank_, deadline);
  bank_->poll(deadline);
  return bank::Clock::now() >= deadline;
}

std::chrono::milliseconds VoiceTiers::rest() const { return keeper_->is_shared() ? kLookRest : kReadingRest; }

void VoiceTiers::drop_written(std::string_view id) {
  written_exports_.fetch_add(1, std::memory_order_relaxed);
  bank_->invalidate(id);
}

}  // namespace timbre::capi
