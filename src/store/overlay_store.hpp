// SPDX-License-Identifier: MIT
//
// OverlayStore: voices that are kept in this process's memory only, in front of a store.
//
// Invariants
//   * An ephemeral voice hides the stored one of its id until a stored put or a remove of that id, which end it.
//   * Versions of ephemeral voices lie above those of any store, and are never used again.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/memory_store.hpp"
#include "store/voice_store.hpp"

namespace timbre::store {

/// Thread safety: all members from any thread.
class OverlayStore final : public VoiceStore {
 public:
  /// @param below  outlives the overlay.
  explicit OverlayStore(VoiceStore& below) : below_(below), front_(*this) {}

  [[nodiscard]] Result<std::unique_ptr<VoiceLoad>> begin_load(std::string_view id) override;
  [[nodiscard]] Result<Version> put(std::string_view id, voice::VoiceRecord record,
                                    std::optional<Expected> expected = {}) override;
  /// Removes both; kNotFound where there is neither.
  [[nodiscard]] Result<void> remove(std::string_view id) override;
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                                      std::size_t limit) override;
  [[nodiscard]] bool is_shared() const override { return below_.is_shared(); }
  [[nodiscard]] Result<Changes> changes() override { return below_.changes(); }
  [[nodiscard]] Result<void> maintain() override { return below_.maintain(); }
  [[nodiscard]] Result<void> add_uses(std::span<const UseCount> uses) override;
  [[nodiscard]] Result<std::vector<UseCount>> most_used(std::size_t limit) override { return below_.most_used(limit); }

  /// The overlay as a store whose puts are ephemeral.
  [[nodiscard]] VoiceStore& ephemeral() { return front_; }

 private:
  class Load;
  class Front final : public VoiceStore {
   public:
    explicit Front(OverlayStore& overlay) : overlay_(overlay) {}
    Result<std::unique_ptr<VoiceLoad>> begin_load(std::string_view id) override { return overlay_.begin_load(id); }
    Result<Version> put(std::string_view id, voice::VoiceRecord record, std::optional<Expected> expected) override {
      return overlay_.put_ephemeral(id, std::move(record), expected);
    }
    Result<void> remove(std::string_view id) override { return overlay_.remove(id); }
    Result<std::vector<std::string>> list(std::string_view prefix, std::string_view cursor,
                                          std::size_t limit) override {
      return overlay_.list(prefix, cursor, limit);
    }

   private:
    OverlayStore& overlay_;
  };

  static constexpr std::uint64_t kFirstSequence = std::uint64_t{1} << 62U;

  [[nodiscard]] Result<Version> put_ephemeral(std::string_view id, voice::VoiceRecord record,
                                              const std::optional<Expected>& expected);
  /// What a load would give; sequence 0 for no voice.
  [[nodiscard]] Result<Version> version_of(std::string_view id);

  VoiceStore& below_;
  Front front_;
  std::mutex writing_;  // one writer at a time: what a put finds is there until it is done
  MemoryStore voices_{kFirstSequence};
};

}  // namespace timbre::store
