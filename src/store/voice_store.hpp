// SPDX-License-Identifier: MIT
//
// VoiceStore: where all voices are kept, behind the bank's tiers.
//
// Invariants
//   * A load reads nothing before begin_load() was called, and answers with what the store held at some moment after.
//   * A load belongs to one thread at a time, which may change between two pump() calls: connection and parser state
//   are
//     the load's own.
//   * When put() or remove() has returned, every load that begins afterwards sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/core/result.hpp"
#include "voice/voice_record.hpp"

namespace timbre::store {

using Deadline = std::chrono::steady_clock::time_point;

/// What a stored voice is told apart by: equal only if both numbers are.
struct Version {
  std::uint64_t sequence = 0;  ///< rises with each put; 0 is no version
  std::uint64_t checksum = 0;  ///< of the stored bytes

  friend bool operator==(const Version&, const Version&) = default;
};

struct StoredVoice {
  std::shared_ptr<const voice::VoiceRecord> record;
  Version version;
};

/// What a put expects to find.
struct Expected {
  std::uint64_t sequence = 0;             ///< 0: no such voice
  std::optional<std::uint64_t> checksum;  ///< compared where it is told
};

/// One read of one voice.
class VoiceLoad {
 public:
  VoiceLoad() = default;
  VoiceLoad(const VoiceLoad&) = delete;
  VoiceLoad& operator=(const VoiceLoad&) = delete;
  virtual ~VoiceLoad() = default;

  /// Works on, and waits until `deadline` at most; with one that has passed it waits for nothing.
  /// @return the voice; nothing yet; or an error, kNotFound where there is none. The last two words of a load: it is
  ///         not pumped again after a voice or an error.
  [[nodiscard]] virtual Result<std::optional<StoredVoice>> pump(Deadline deadline) = 0;
};

/// What others have written since somebody last asked.
struct Changes {
  bool is_everything = false;    ///< nobody can tell: any voice may be another now
  std::vector<std::string> ids;  ///< put or removed
};

/// How often a voice was used, in whatever unit its counter has.
struct UseCount {
  std::string id;
  std::uint64_t count = 0;
};

/// Thread safety: all members from any thread.
class VoiceStore {
 public:
  VoiceStore() = default;
  VoiceStore(const VoiceStore&) = delete;
  VoiceStore& operator=(const VoiceStore&) = delete;
  virtual ~VoiceStore() = default;

  /// Begins a read; waits for nothing. The store outlives the load.
  [[nodiscard]] virtual Result<std::unique_ptr<VoiceLoad>> begin_load(std::string_view id) = 0;

  /// Keeps a checked record. Error: kConflict where the store holds another version than `expected`, and nothing has
  /// changed.
  [[nodiscard]] virtual Result<Version> put(std::string_view id, voice::VoiceRecord record,
                                            std::optional<Expected> expected) = 0;

  /// kNotFound if there is none.
  [[nodiscard]] virtual Result<void> remove(std::string_view id) = 0;

  /// Up to `limit` ids in byte order that begin with `prefix` and come after `cursor` (empty = from the start).
  [[nodiscard]] virtual Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                              std::size_t limit) = 0;

  // What only stores have that outlive this process or that others write to.

  /// Whether others may write to it, so that changes() has to be asked several times a second.
  [[nodiscard]] virtual bool is_shared() const { return false; }
  /// What others have put or removed since the last call that succeeded, or since the store was opened. Cheap where
  /// nothing was.
  [[nodiscard]] virtual Result<Changes> changes() { return Changes{}; }
  /// Work that is nobody's in particular, for a background thread; cheap where there is none.
  [[nodiscard]] virtual Result<void> maintain() { return {}; }
  /// Adds to the counts that most_used() goes by, which outlive the process; of voices that are not there nothing is
  /// kept.
  [[nodiscard]] virtual Result<void> add_uses(std::span<const UseCount>) { return {}; }
  /// Up to `limit` voices that were used most, with most uses first.
  [[nodiscard]] virtual Result<std::vector<UseCount>> most_used(std::size_t) { return std::vector<UseCount>(); }
};

}  // namespace timbre::store
