// SPDX-License-Identifier: MIT
#include "store/memory_store.hpp"

#include <fmt/format.h>

namespace timbre::store {
namespace {

Error not_found(std::string_view id) { return {Status::kNotFound, fmt::format("there is no voice '{}'", id)}; }

}  // namespace

std::uint64_t MemoryStore::put(std::string_view id, voice::VoiceRecord record) {
  auto kept = std::make_shared<const voice::VoiceRecord>(std::move(record));
  const std::lock_guard lock(mutex_);
  voice::Voice& slot = voices_[std::string(id)];
  slot = {std::move(kept), ++last_version_};
  return slot.version;
}

Result<void> MemoryStore::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = voices_.find(id);
  if (found == voices_.end()) return not_found(id);
  voices_.erase(found);
  return {};
}

std::vector<std::string> MemoryStore::list(std::string_view prefix, std::string_view cursor, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  auto at = !cursor.empty() && cursor >= prefix ? voices_.upper_bound(cursor) : voices_.lower_bound(prefix);
  std::vector<std::string> ids;
  for (; at != voices_.end() && ids.size() < limit && at->first.starts_with(prefix); ++at) ids.push_back(at->first);
  return ids;
}

Result<std::optional<voice::Voice>> MemoryStore::try_get(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = voices_.find(id);
  if (found == voices_.end()) return not_found(id);
  return std::optional<voice::Voice>(found->second);
}

Result<voice::Voice> MemoryStore::get(std::string_view id) {
  Result<std::optional<voice::Voice>> known = try_get(id);
  if (!known) return std::move(known).error();
  return **known;
}

}  // namespace timbre::store
