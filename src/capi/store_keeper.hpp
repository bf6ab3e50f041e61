// SPDX-License-Identifier: MIT
//
// StoreKeeper: the store of an engine by its address, and its work in the background: what others have written, uses
// that outlive the engine, voices to begin with.
//
// Invariant: a change that the store has told reaches the bank, or makes all of the bank suspect.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bank/voice_bank.hpp"
#include "store/memory_store.hpp"
#include "store/overlay_store.hpp"
#include "store/sqlite_store.hpp"

namespace timbre::capi {

struct KeeperOptions {
  std::string address = "memory:";                     ///< "memory:" or "sqlite:PATH"
  std::size_t preheat_count = 64;                      ///< voices that are loaded at the start; at most 256
  std::function<void(std::string)> warning = nullptr;  ///< takes what goes wrong in the background
};

/// kInvalidArgument or kUnsupported for an address that is none.
[[nodiscard]] Result<void> check_address(std::string_view address);

struct KeeperFacts {
  store::SqliteStats library;                                      ///< zeros for "memory:"
  std::uint64_t changes = 0;                                       ///< ids that others have changed
  std::uint64_t failures = 0;                                      ///< of background work
  std::optional<std::chrono::steady_clock::time_point> last_look;  ///< the last that succeeded, of a shared store
};

/// Thread safety: all members from any thread.
class StoreKeeper {
 public:
  /// Errors: those of SqliteStore::open().
  static Result<std::unique_ptr<StoreKeeper>> open(const KeeperOptions& options);

  [[nodiscard]] store::VoiceStore& store() { return overlay_ ? static_cast<store::VoiceStore&>(*overlay_) : *kept_; }
  /// Whose puts are kept in this process's memory only.
  [[nodiscard]] store::VoiceStore& ephemeral() { return overlay_ ? overlay_->ephemeral() : *kept_; }
  [[nodiscard]] bool is_shared() const { return library_ != nullptr; }

  /// Looks for changes, maintains, keeps uses now and then; the first time it begins to load what was used most.
  void work(bank::VoiceBank& bank, bank::Clock::time_point deadline);
  /// Uses since the last time.
  void keep_uses(bank::VoiceBank& bank);

  [[nodiscard]] KeeperFacts facts() const;

 private:
  explicit StoreKeeper(const KeeperOptions& options) : options_(options) {}
  void look(bank::VoiceBank& bank);
  void preheat(bank::VoiceBank& bank, bank::Clock::time_point deadline);
  void note_failure(const Error& error);

  KeeperOptions options_;
  std::unique_ptr<store::VoiceStore> kept_;
  std::unique_ptr<store::OverlayStore> overlay_;  // over kept_ where that outlives the engine
  store::SqliteStore* library_ = nullptr;         // kept_, where it is one

  std::atomic<bool> is_preheated_{false};
  std::atomic<bool> is_suspect_{false};  // changes were told and did not reach the bank
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> failures_{0};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::uint64_t> kept_uses_;  // counts of the bank that the store has
  bank::Clock::time_point next_uses_{};
  std::optional<bank::Clock::time_point> last_look_;
  std::string last_failure_;
};

}  // namespace timbre::capi
