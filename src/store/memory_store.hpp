// SPDX-License-Identifier: MIT
//
// MemoryStore: voices in this process's memory, for engines without a file and for ephemeral voices.
//
// Invariants
//   * Ids are compared in full. Versions rise with every put of any id and are never reused.
//   * A reader's Voice survives re-put and removal.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "voice/voice_source.hpp"

namespace timbre::store {

/// Thread safety: all members from any thread; none blocks beyond its mutex.
class MemoryStore final : public voice::VoiceSource {
 public:
  /// Keeps a checked record under `id`. @return its version.
  std::uint64_t put(std::string_view id, voice::VoiceRecord record);
  /// kNotFound if there is none.
  Result<void> remove(std::string_view id);
  /// Up to `limit` ids in byte order that begin with `prefix` and come after `cursor` (empty = from the start).
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix, std::string_view cursor,
                                              std::size_t limit) const;

  Result<std::optional<voice::Voice>> try_get(std::string_view id) override;
  Result<voice::Voice> get(std::string_view id) override;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, voice::Voice, std::less<>> voices_;
  std::uint64_t last_version_ = 0;
};

}  // namespace timbre::store
