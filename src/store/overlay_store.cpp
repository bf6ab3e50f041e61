// SPDX-License-Identifier: MIT
#include "store/overlay_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/store_errors.hpp"

namespace timbre::store {

/// The ephemeral voice of the first pump; where there is none by then, the store's.
class OverlayStore::Load final : public VoiceLoad {
 public:
  Load(OverlayStore& overlay, std::string_view id) : overlay_(overlay), id_(id) {}

  Result<std::optional<StoredVoice>> pump(Deadline deadline) override {
    if (!below_) {
      if (Result<StoredVoice> own = overlay_.voices_.read(id_)) return std::optional<StoredVoice>(std::move(*own));
      Result<std::unique_ptr<VoiceLoad>> load = overlay_.below_.begin_load(id_);
      if (!load) return std::move(load).error();
      below_ = std::move(*load);
    }
    return below_->pump(deadline);
  }

 private:
  OverlayStore& overlay_;
  std::string id_;
  std::unique_ptr<VoiceLoad> below_;
};

Result<std::unique_ptr<VoiceLoad>> OverlayStore::begin_load(std::string_view id) {
  return std::unique_ptr<VoiceLoad>(std::make_unique<Load>(*this, id));
}

Result<Version> OverlayStore::put(std::string_view id, voice::VoiceRecord record, std::optional<Expected> expected) {
  const std::lock_guard lock(writing_);
  const Result<StoredVoice> hidden_by = voices_.read(id);
  if (hidden_by && expected) {
    if (Result<void> fits = check_expected(id, hidden_by->version, expected); !fits) return std::move(fits).error();
    expected.reset();
  }
  Result<Version> version = below_.put(id, std::move(record), expected);
  if (version && hidden_by) static_cast<void>(voices_.remove(id).ok());
  return version;
}

Result<Version> OverlayStore::put_ephemeral(std::string_view id, voice::VoiceRecord record,
                                            const std::optional<Expected>& expected) {
  const std::lock_guard lock(writing_);
  if (expected) {
    const Result<Version> there = version_of(id);
    if (!there) return there.error();
    if (Result<void> fits = check_expected(id, *there, expected); !fits) return std::move(fits).error();
  }
  return voices_.put(id, std::move(record));
}

Result<Version> OverlayStore::version_of(std::string_view id) {
  Result<std::unique_ptr<VoiceLoad>> load = begin_load(id);
  if (!load) return std::move(load).error();
  const Result<std::optional<StoredVoice>> found = (*load)->pump(Deadline::max());
  if (found && *found) return (*found)->version;
  if (!found && found.error().status != Status::kNotFound) return found.error();
  return Version{};
}

Result<void> OverlayStore::remove(std::string_view id) {
  const std::lock_guard lock(writing_);
  Result<void> removed = below_.remove(id);
  if (!removed && removed.error().status != Status::kNotFound) return removed;
  if (voices_.remove(id)) return {};
  return removed;
}

Result<std::vector<std::string>> OverlayStore::list(std::string_view prefix, std::string_view cursor,
                                                    std::size_t limit) {
  Result<std::vector<std::string>> below = below_.list(prefix, cursor, limit);
  if (!below) return below;
  const Result<std::vector<std::string>> own = voices_.list(prefix, cursor, limit);
  if (!own || own->empty()) return below;
  std::vector<std::string> ids;
  std::set_union(below->begin(), below->end(), own->begin(), own->end(), std::back_inserter(ids));
  if (ids.size() > limit) ids.resize(limit);
  return ids;
}

/// Ephemeral voices are not there at the next start.
Result<void> OverlayStore::add_uses(std::span<const UseCount> uses) {
  std::vector<UseCount> stored;
  for (const UseCount& use : uses) {
    if (!voices_.read(use.id)) stored.push_back(use);
  }
  return below_.add_uses(stored);
}

}  // namespace timbre::store
