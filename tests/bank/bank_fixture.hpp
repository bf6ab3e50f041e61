// SPDX-License-Identifier: MIT
//
// Voices for tests of the bank: every payload tells whose it is and which stamp it has, in each of its values, and its
// version carries its checksum, so that a wrong, torn, stale or freed one is seen.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bank/voice_bank.hpp"
#include "cache/cache_fixture.hpp"
#include "store/scripted_store.hpp"
#include "voice/packed_voice.hpp"

namespace timbre::bank::test {

using cache::test::delayed;
using cache::test::host;
using cache::test::id_of;
using cache::test::kMiB;
using cache::test::kPage;

inline Clock::time_point in(std::chrono::milliseconds time) { return Clock::now() + time; }
inline Wait within(std::chrono::milliseconds time) { return {.deadline = in(time)}; }

struct Dice {
  std::uint64_t state = 0;

  std::uint64_t roll() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 33U;
  }
};

inline float value_of(std::uint64_t number, std::uint64_t stamp, std::size_t at) {
  return static_cast<float>((number * 7919 + stamp * 104'729 + at * 31) % 65'521);
}

/// "content" and "style" as voices have them, 1,280 bytes unless told otherwise; values[0] of content is the stamp.
inline voice::VoiceRecord record_of(std::uint64_t number, std::uint64_t stamp, std::size_t style = 192) {
  voice::VoiceRecord record;
  for (const auto& [name, count] : {std::pair<const char*, std::size_t>{"content", 128}, {"style", style}}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value_of(number, stamp, i);
    values[0] = static_cast<float>(stamp);
    voice::Tensor tensor;
    tensor.name = name;
    tensor.shape = {static_cast<std::int64_t>(count)};
    tensor.data.resize(count * sizeof(float));
    std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
    record.tensors.push_back(std::move(tensor));
  }
  return record;
}

/// The stamp of a lease whose bytes are, in every value, those of voice `number`; nothing where they are not.
inline std::optional<std::uint64_t> stamp_of(device::Device& device, const VoiceLease& lease, std::uint64_t number,
                                             device::Stream stream = device::Stream::kDefault) {
  std::vector<std::byte> row(lease.layout().row_bytes);
  if (!lease || lease.id() != id_of(number) || lease.bytes() != row.size()) return std::nullopt;
  if (!device.download(row.data(), lease.address(), row.size(), stream)) return std::nullopt;
  const Result<device::Event> end = device.record(stream);
  if (!end || !device.wait(*end)) return std::nullopt;
  const voice::VoiceRecord record = voice::unpack(lease.layout(), row);
  if (voice::checksum(record) != lease.version().checksum || record.find("content") == nullptr) return std::nullopt;
  const auto stamp = static_cast<std::uint64_t>(voice::to_floats(record.find("content")->view())[0]);
  const std::size_t style = voice::to_floats(record.find("style")->view()).size();
  if (voice::checksum(record_of(number, stamp, style)) != lease.version().checksum) return std::nullopt;
  return stamp;
}

/// A bank of one tier in host memory, or of a late device before a host tier, over a scripted store.
struct Bench {
  explicit Bench(std::uint64_t budget = 16 * kMiB, bool two_tiers = false, std::uint64_t host_budget = 16 * kMiB) {
    options.device.cache.budget_bytes = budget;
    options.now = [this] { return Clock::now() + skew; };
    memory = host(64 * kMiB);
    if (two_tiers) {
      late = delayed(64 * kMiB, 7);
      options.device.device = late.get();
      options.host.device = memory.get();
      options.host.cache.budget_bytes = host_budget;
    } else {
      options.device.device = memory.get();
    }
  }
  ~Bench() {
    bank.reset();
    if (late) CHECK(late->violation_count() == 0);
  }

  VoiceBank& make() {
    bank = std::make_unique<VoiceBank>(options, store);
    return *bank;
  }
  [[nodiscard]] device::Device& device() { return *options.device.device; }

  /// Stored as another process would: the bank hears nothing of it.
  void keep(std::uint64_t number, std::uint64_t stamp = 1, std::size_t style = 192) {
    REQUIRE(store.voices().put(id_of(number), record_of(number, stamp, style)));
  }
  [[nodiscard]] std::optional<std::uint64_t> stamp(const VoiceLease& lease, std::uint64_t number) {
    return stamp_of(device(), lease, number);
  }

  BankOptions options;
  std::chrono::milliseconds skew{0};
  store::ScriptedStore store;
  std::unique_ptr<device::HostDevice> memory;
  std::unique_ptr<device::DelayedDevice> late;
  std::unique_ptr<VoiceBank> bank;
};

/// Runs `count` threads and joins them when it ends.
template <class Body>
class Crowd {
 public:
  Crowd(std::size_t count, Body body) : body_(std::move(body)) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { body_(i); });
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() { join(); }
  void join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  Body body_;
  std::vector<std::thread> threads_;
};

/// Waits for what another thread will do.
template <class Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace timbre::bank::test
