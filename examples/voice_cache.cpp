// SPDX-License-Identifier: MIT
//
// The voice cache alone, in a C++ program that links nothing: 2,000 voices, room for 500, and a host that wants half of
// the memory back.
//
//   c++ -std=c++20 -O2 -I include examples/voice_cache.cpp -o voice_cache -pthread && ./voice_cache
#include "timbre/cache/voice_cache.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "timbre/device/host_device.hpp"

namespace {

constexpr std::uint64_t kVoiceBytes = 320 * sizeof(float);

/// What a store would give: here every number of voice n is n.
std::vector<float> load_voice(int number) { return std::vector<float>(320, static_cast<float>(number)); }

/// A lease on voice n: from the cache, or loaded into it.
timbre::Result<timbre::cache::Lease> get(timbre::cache::VoiceCache& cache, timbre::device::Device& device, int number) {
  const std::string id = "npc/guard-" + std::to_string(number);
  if (timbre::cache::Lease found = cache.lookup(id)) return found;
  timbre::Result<timbre::cache::Reservation> room = cache.reserve(id, kVoiceBytes, {1, 0});
  if (!room) return room.error();
  const std::vector<float> voice = load_voice(number);
  constexpr auto kStream = timbre::device::Stream::kDefault;
  if (auto sent = device.upload(room->address(), voice.data(), kVoiceBytes, kStream); !sent) return sent.error();
  const timbre::Result<timbre::device::Event> done = device.record(kStream);
  if (!done) return done.error();
  if (auto waited = device.wait(*done); !waited) return waited.error();
  return cache.publish(std::move(*room));
}

}  // namespace

int main() {
  auto device = timbre::device::HostDevice::create({.capacity_bytes = 64 << 20});
  if (!device) return std::fprintf(stderr, "%s\n", device.error().message.c_str()), 1;
  timbre::cache::VoiceCache cache(**device, {.budget_bytes = 500 * kVoiceBytes});
  for (int round = 0; round < 20'000; ++round) {
    const int number = round % 3 == 0 ? round * 7 % 2000 : round % 200;  // some voices speak all the time
    const auto voice = get(cache, **device, number);
    if (!voice) return std::fprintf(stderr, "%s\n", voice.error().message.c_str()), 1;
    if (*reinterpret_cast<const float*>(voice->address()) != static_cast<float>(number)) return 1;
  }
  const std::uint64_t freed = cache.trim(250 * kVoiceBytes);
  const timbre::cache::CacheStats stats = cache.stats();
  std::printf("hits %llu, misses %llu, %llu voices in %llu bytes; the host got %llu bytes back\n",
              static_cast<unsigned long long>(stats.hits), static_cast<unsigned long long>(stats.misses),
              static_cast<unsigned long long>(stats.rows.entries), static_cast<unsigned long long>(stats.held_bytes),
              static_cast<unsigned long long>(freed));
  return freed > 0 ? 0 : 1;
}
