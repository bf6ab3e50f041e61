// SPDX-License-Identifier: MIT
//
// Voices: what is stored under an id, and how it is leased.
//
// Invariant: there is never another voice in a voice's place; what is not to be had is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "timbre/wrapper/lease.hpp"

namespace timbre {

/// timbre_voice_record with its defaults.
struct VoiceRecord : timbre_voice_record {
  VoiceRecord() { check(timbre_voice_record_init(this, sizeof(timbre_voice_record))); }
  explicit VoiceRecord(std::span<const Tensor> views, const char* fingerprint = nullptr) : VoiceRecord() {
    tensors = views.data();
    tensor_count = views.size();
    tensor_size = sizeof(Tensor);
    model_fingerprint = fingerprint;
  }
};

/// timbre_voice_put_options with its defaults.
struct PutOptions : timbre_voice_put_options {
  PutOptions() { check(timbre_voice_put_options_init(this, sizeof(timbre_voice_put_options))); }
};

/// One row of a batch: a lease where the status is TIMBRE_OK, none where it is an error.
struct BatchRow {
  timbre_status status = TIMBRE_OK;
  VoiceLease lease;
};

/// What a prefetch has come to: voices that are there, that are not to be had, and whether some are still being loaded.
struct Prefetched {
  std::uint64_t ready = 0;
  std::uint64_t failed = 0;
  bool pending = false;
};

/// The voices of an engine; a view that must not outlive it. Any thread. Times are in milliseconds, -1 = no limit.
class Voices {
 public:
  explicit Voices(timbre_engine* engine) noexcept : engine_(engine) {}

  /// Stores a voice. @return its version. Throws CONFLICT where `options` expect another version than is there.
  std::uint64_t put(const std::string& id, const VoiceRecord& record, const PutOptions& options = {}) const {
    std::uint64_t version = 0;
    check(timbre_voice_put(engine_, c_string(id), &record, &options, &version));
    return version;
  }

  /// Leases a voice, loading it if it must be. Throws NOT_FOUND, TIMEOUT, ...
  [[nodiscard]] VoiceLease get(const std::string& id, std::int32_t timeout_ms = -1) const {
    timbre_lease lease{};
    check(timbre_voice_get(engine_, c_string(id), timeout_ms, &lease));
    return VoiceLease(lease);
  }

  /// Never waits. @return nothing where the voice is not here yet; asking again goes on with the load.
  [[nodiscard]] std::optional<VoiceLease> try_get(const std::string& id) const {
    timbre_lease lease{};
    if (check(timbre_voice_try_get(engine_, c_string(id), &lease)) == TIMBRE_PENDING) return std::nullopt;
    return VoiceLease(lease);
  }

  /// One `get` for each id, in one wait; a row that fails costs no other its lease, and throws nothing.
  /// timbre_last_error() tells of the first that failed.
  [[nodiscard]] std::vector<BatchRow> get_batch(std::span<const std::string> ids, std::int32_t timeout_ms = -1) const {
    constexpr timbre_status kUntold = INT32_MAX;
    const std::vector<const char*> names = c_strings(ids);
    std::vector<timbre_lease> leases(ids.size());
    std::vector<timbre_status> statuses(ids.size(), kUntold);
    std::vector<BatchRow> rows(ids.size());
    const timbre_status status =
        timbre_voice_get_batch(engine_, names.data(), names.size(), timeout_ms, leases.data(), statuses.data());
    if (rows.empty() || statuses[0] == kUntold) check(status);  // it failed as a whole
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {statuses[i], VoiceLease(leases[i])};
    return rows;
  }

  /// Brings voices into the cache before they are asked for, where they displace none that was used.
  Prefetched prefetch(std::span<const std::string> ids, std::int32_t timeout_ms = 0) const {
    const std::vector<const char*> names = c_strings(ids);
    Prefetched done;
    done.pending = check(timbre_voice_prefetch(engine_, names.data(), names.size(), timeout_ms, &done.ready,
                                               &done.failed)) == TIMBRE_PENDING;
    return done;
  }
  /// The same for the `count` voices that were used most lately, at most 256.
  Prefetched prefetch_top(std::uint64_t count, std::int32_t timeout_ms = 0) const {
    Prefetched done;
    done.pending =
        check(timbre_voice_prefetch_top(engine_, count, timeout_ms, &done.ready, &done.failed)) == TIMBRE_PENDING;
    return done;
  }

  /// Where a voice is, who holds it, and why it last went. For people: it may read the store.
  [[nodiscard]] timbre_voice_explanation explain(const std::string& id) const {
    timbre_voice_explanation explanation{};
    explanation.struct_size = sizeof explanation;
    check(timbre_voice_explain(engine_, c_string(id), &explanation));
    return explanation;
  }

  void remove(const std::string& id) const { check(timbre_voice_remove(engine_, c_string(id))); }

  /// Every id that begins with `prefix`, in byte order.
  [[nodiscard]] std::vector<std::string> list(const std::string& prefix = "") const {
    std::vector<std::string> ids;
    std::vector<char> page(64 * 1024);  // an id has at most 512 bytes
    while (true) {
      const std::string cursor = ids.empty() ? "" : ids.back();
      std::uint64_t size = 0;
      std::uint64_t count = 0;
      check(timbre_voice_list(engine_, c_string(prefix), cursor.c_str(), page.data(), page.size(), &size, &count));
      if (count == 0) return ids;
      const char* next = page.data();
      for (std::uint64_t i = 0; i < count; ++i) next += ids.emplace_back(next).size() + 1;
    }
  }

 private:
  static std::vector<const char*> c_strings(std::span<const std::string> ids) {
    std::vector<const char*> names;
    names.reserve(ids.size());
    for (const std::string& id : ids) names.push_back(c_string(id));
    return names;
  }

  timbre_engine* engine_;
};

}  // namespace timbre
