// SPDX-License-Identifier: MIT
//
// The voice bank through the C ABI of libtimbre.so, used as the caches of caches.hpp are: a row is a voice of one
// tensor "g" of 64 floats. Ids must end with a zero, as those of id_list.hpp do.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caches.hpp"
#include "timbre/c/voice.h"

namespace timbre::bench {

class VoiceBankCache {
 public:
  static constexpr bool kTakesLongIds = true;
  static std::string name() { return "timbre C ABI"; }

  /// An engine as a host makes it, for whom `capacity` of these voices are nothing.
  /// @param background  false: no thread beside the caller's, for counting.
  explicit VoiceBankCache(std::uint64_t /*capacity*/, bool background = true) {
    timbre_engine_config config;
    timbre_engine_config_init(&config, sizeof config);
    config.thread_count = 1;
    config.device = "cpu";
    config.background = background ? 1 : 0;
    if (timbre_engine_create(&config, &engine_) != TIMBRE_OK) engine_ = nullptr;
  }
  VoiceBankCache(const VoiceBankCache&) = delete;
  VoiceBankCache& operator=(const VoiceBankCache&) = delete;
  ~VoiceBankCache() { timbre_engine_destroy(engine_); }

  bool put(std::string_view id, const Row& row) {
    timbre_tensor g{};
    g.struct_size = sizeof g;
    g.dtype = TIMBRE_DTYPE_F32;
    g.name = "g";
    g.data = row.data();
    g.size_bytes = kRowBytes;
    g.rank = 1;
    g.shape[0] = kRowBytes / sizeof(float);
    timbre_voice_record record;
    timbre_voice_record_init(&record, sizeof record);
    record.tensors = &g;
    record.tensor_count = 1;
    return timbre_voice_put(engine_, id.data(), &record, nullptr, nullptr) == TIMBRE_OK;
  }

  bool hit(std::string_view id) {
    timbre_lease lease;
    return timbre_voice_get(engine_, id.data(), 0, &lease) == TIMBRE_OK && timbre_voice_release(&lease) == TIMBRE_OK;
  }

  std::uint64_t read(std::string_view id) {
    timbre_lease lease;
    if (timbre_voice_get(engine_, id.data(), 0, &lease) != TIMBRE_OK) return 0;
    timbre_tensor g{};
    g.struct_size = sizeof g;
    std::uint64_t word = 0;
    if (timbre_voice_tensor(&lease, "g", &g) == TIMBRE_OK) std::memcpy(&word, g.data, sizeof word);
    return timbre_voice_release(&lease) == TIMBRE_OK ? word : 0;
  }

  std::size_t batch(std::span<const std::string_view> ids) {
    names_.clear();
    for (const std::string_view id : ids) names_.push_back(id.data());
    leases_.resize(ids.size());
    statuses_.resize(ids.size());
    timbre_voice_get_batch(engine_, names_.data(), ids.size(), 0, leases_.data(), statuses_.data());
    std::size_t found = 0;
    for (timbre_lease& lease : leases_) found += timbre_voice_release(&lease) == TIMBRE_OK ? 1 : 0;
    return found;
  }

 private:
  timbre_engine* engine_ = nullptr;
  std::vector<const char*> names_;
  std::vector<timbre_lease> leases_;
  std::vector<timbre_status> statuses_;
};

}  // namespace timbre::bench
