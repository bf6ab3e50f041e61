// SPDX-License-Identifier: MIT
//
// Voices for tests of the cache: every payload tells whose it is and which version, in its first bytes, its last ones
// and between, so that a wrong, torn or freed one is seen.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "timbre/cache/voice_cache.hpp"
#include "timbre/device/delayed_device.hpp"
#include "timbre/device/host_device.hpp"

namespace timbre::cache::test {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kPage = 65'536;  // of the devices below, in bytes
inline constexpr std::uint64_t kRow = 1280;     // content [128] and style [192] in fp32

inline CacheOptions with_budget(std::uint64_t bytes, PolicyKind kind = PolicyKind::kAuto) {
  CacheOptions options;
  options.budget_bytes = bytes;
  options.rows = options.blobs = kind;
  return options;
}

/// 16 bytes, as an id of 128 bits.
inline std::string id_of(std::uint64_t number) {
  std::string id(16, '-');
  std::snprintf(id.data(), id.size() + 1, "v%015llu", static_cast<unsigned long long>(number));
  return id;
}

inline std::uint64_t word_of(std::uint64_t number, std::uint64_t version, std::size_t at) {
  return (number << 40U) ^ (version << 20U) ^ at ^ 0x5EEDC0DEU;
}

/// @param bytes  a multiple of 8
inline std::vector<std::uint64_t> payload(std::uint64_t number, std::uint64_t version, std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8);
  for (std::size_t at = 0; at < words.size(); ++at) words[at] = word_of(number, version, at);
  return words;
}

inline bool is_payload(const std::uint64_t* words, std::uint64_t number, std::uint64_t version, std::uint64_t bytes) {
  for (std::size_t at = 0; at < bytes / 8; ++at) {
    if (words[at] != word_of(number, version, at)) return false;
  }
  return true;
}

inline std::unique_ptr<device::HostDevice> host(std::uint64_t capacity_bytes, bool maps_pages = true) {
  device::HostDeviceOptions options;
  options.capacity_bytes = capacity_bytes;
  options.maps_pages = maps_pages;
  auto made = device::HostDevice::create(options);
  return made ? std::move(*made) : nullptr;
}

inline std::unique_ptr<device::DelayedDevice> delayed(std::uint64_t capacity_bytes, std::uint64_t seed) {
  device::DelayedDeviceOptions options;
  options.memory.capacity_bytes = capacity_bytes;
  options.seed = seed;
  options.max_delay = std::chrono::microseconds(50);
  auto made = device::DelayedDevice::create(options);
  return made ? std::move(*made) : nullptr;
}

/// Loads a voice as a bank would: room, upload, the event of the upload, publish.
inline Result<Lease> load(VoiceCache& cache, device::Device& device, std::uint64_t number, std::uint64_t version,
                          std::uint64_t bytes, Admission admission = Admission::kDemand,
                          device::Stream stream = device::Stream::kDefault) {
  Result<Reservation> room = cache.reserve(id_of(number), bytes, {version, number}, admission);
  if (!room) return room.error();
  const std::vector<std::uint64_t> words = payload(number, version, bytes);
  const Result<void> sent = device.upload(room->address(), words.data(), bytes, stream);
  const Result<device::Event> end = device.record(stream);
  if (!end) return end.error();
  if (Result<void> waited = device.wait(*end); !waited) return waited.error();
  if (!sent) return sent.error();
  return cache.publish(std::move(*room));
}

/// Whether a lease's bytes are those of its id and version.
inline bool is_whole(device::Device& device, const Lease& lease, std::uint64_t number,
                     device::Stream stream = device::Stream::kDefault) {
  const std::uint64_t version = lease.version().sequence;
  if (lease.id() != id_of(number) || lease.version().checksum != number) return false;
  if (device.properties().host_addressable) {
    return is_payload(reinterpret_cast<const std::uint64_t*>(lease.address()), number, version, lease.bytes());
  }
  std::vector<std::uint64_t> words(lease.bytes() / 8);
  if (!device.download(words.data(), lease.address(), lease.bytes(), stream)) return false;
  const Result<device::Event> end = device.record(stream);
  return end && device.wait(*end) && is_payload(words.data(), number, version, lease.bytes());
}

/// Nobody has a lease, and nothing is kept for one.
inline void check_no_leases(const CacheStats& stats) {
  CHECK(stats.leases == 0);
  CHECK(stats.leased_bytes == 0);
  CHECK(stats.retired_entries == 0);
  CHECK(stats.retired_bytes == 0);
  CHECK(stats.transient_bytes == 0);
}

}  // namespace timbre::cache::test
