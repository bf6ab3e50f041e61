// SPDX-License-Identifier: MIT
#include "store/memory_store.hpp"

#include "store/store_errors.hpp"
#include "voice/packed_voice.hpp"

namespace timbre::store {
namespace {

class MemoryLoad final : public VoiceLoad {
 public:
  MemoryLoad(const MemoryStore& store, std::string_view id) : store_(store), id_(id) {}

  Result<std::optional<StoredVoice>> pump(Deadline) override {
    Result<StoredVoice> found = store_.read(id_);
    if (!found) return std::move(found).error();
    return std::optional<StoredVoice>(std::move(*found));
  }

 private:
  const MemoryStore& store_;
  std::string id_;
};

}  // namespace

Result<std::unique_ptr<VoiceLoad>> MemoryStore::begin_load(std::string_view id) {
  return std::unique_ptr<VoiceLoad>(std::make_unique<MemoryLoad>(*this, id));
}

Result<Version> MemoryStore::put(std::string_view id, voice::VoiceRecord record, std::optional<Expected> expected) {
  StoredVoice kept{std::make_shared<const voice::VoiceRecord>(std::move(record)), {}};
  kept.version.checksum = voice::checksum(*kept.record);
  const std::lock_guard lock(mutex_);
  const auto found = voices_.find(id);
  const Version there = found == voices_.end() ? Version{} : found->second.version;
  if (Result<void> fits = check_expected(id, there, expected); !fits) return std::move(fits).error();
  kept.version.sequence = ++last_sequence_;
  const Version version = kept.version;
  if (found == voices_.end()) {
    voices_.emplace(id, std::move(kept));
  } else {
    found->second = std::move(kept);
  }
  return version;
}

Result<void> MemoryStore::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = voices_.find(id);
  if (found == voices_.end()) return not_found(id);
  voices_.erase(found);
  return {};
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view prefix, std::string_view cursor,
                                                   std::size_t limit) {
  const std::lock_guard lock(mutex_);
  auto at = !cursor.empty() && cursor >= prefix ? voices_.upper_bound(cursor) : voices_.lower_bound(prefix);
  std::vector<std::string> ids;
  for (; at != voices_.end() && ids.size() < limit && at->first.starts_with(prefix); ++at) ids.push_back(at->first);
  return ids;
}

Result<StoredVoice> MemoryStore::read(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = voices_.find(id);
  if (found == voices_.end()) return not_found(id);
  return found->second;
}

}  // namespace timbre::store
