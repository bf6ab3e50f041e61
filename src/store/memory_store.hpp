// SPDX-License-Identifier: MIT
//
// MemoryStore: voices in this process's memory, for engines without a file and for ephemeral voices.
//
// Invariants
//   * Ids are compared in full. Versions rise with every put of any id and are never reused.
//   * A reader's record survives re-put and removal.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "store/voice_store.hpp"

namespace timbre::store {

/// None of its members blocks beyond its mutex; a load is done at its first pump.
class MemoryStore final : public VoiceStore {
 public:
  /// @param last_sequence  versions begin above it.
  explicit MemoryStore(std::uint64_t last_sequence = 0) : last_sequence_(last_sequence) {}

  [[nodiscard]] Result<std::unique_ptr<VoiceLoad>> begin_load(std::string_view id) override;
  Result<Version> put(std::string_view id, voice::VoiceRecord record, std::optional<Expected> expected = {}) override;
  Result<void> remove(std::string_view id) override;
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                      std::size_t limit) override;

  /// What is there now. Error: kNotFound.
  [[nodiscard]] Result<StoredVoice> read(std::string_view id) const;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, StoredVoice, std::less<>> voices_;
  std::uint64_t last_sequence_;
};

}  // namespace timbre::store
