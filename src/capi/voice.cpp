// SPDX-License-Identifier: MIT
//
// c/voice.h: put, remove, list, explain.
#include "timbre/c/voice.h"

#include "capi/arguments.hpp"
#include "capi/handles.hpp"
#include "capi/voice_arguments.hpp"

namespace timbre::capi {

template <>
inline constexpr std::uint32_t kFirstSize<timbre_voice_put_options> = offsetof(timbre_voice_put_options,
                                                                               expected_version);

namespace {

timbre_voice_record default_record() {
  timbre_voice_record record{};
  record.struct_size = sizeof record;
  record.tensor_size = sizeof(timbre_tensor);
  record.speaker = TIMBRE_AUTO_I32;
  record.noise_scale = TIMBRE_AUTO_F32;
  record.length_scale = TIMBRE_AUTO_F32;
  record.noise_w = TIMBRE_AUTO_F32;
  return record;
}

timbre_voice_put_options default_put_options() {
  timbre_voice_put_options options{};
  options.struct_size = sizeof options;
  options.expected_version = TIMBRE_AUTO_U64;
  return options;
}

Result<void> read_record_texts(const timbre_voice_record& given, voice::VoiceRecord& record) {
  const std::pair<const char*, std::string*> texts[] = {{given.model_fingerprint, &record.model_fingerprint},
                                                        {given.encoder, &record.encoder},
                                                        {given.language, &record.language},
                                                        {given.note, &record.note}};
  for (const auto& [text, target] : texts) {
    Result<std::string> read = read_text(text, "a text of the record");
    if (!read) return std::move(read).error();
    *target = std::move(*read);
  }
  return {};
}

Result<voice::VoiceRecord> read_record(const timbre_voice_record* in) {
  Result<timbre_voice_record> given = read_struct(in, default_record(), "record");
  if (!given) return std::move(given).error();
  voice::VoiceRecord record;
  Result<std::vector<voice::Tensor>> tensors = read_tensors(given->tensors, given->tensor_count, given->tensor_size);
  if (!tensors) return std::move(tensors).error();
  record.tensors = std::move(*tensors);
  if (Result<void> read = read_record_texts(*given, record); !read) return std::move(read).error();
  record.speaker = read_auto(given->speaker);
  record.normalised = given->normalised != 0;
  record.sample_rate_hz = given->sample_rate_hz;
  record.scales = {read_auto(given->noise_scale), read_auto(given->length_scale), read_auto(given->noise_w)};
  if (Result<void> checked = voice::check(record); !checked) return std::move(checked).error();
  return record;
}

/// A record for a model that is loaded here must fit it; for other models that shows when it is spoken.
Result<void> check_loaded_model(EngineState& engine, std::string_view id, const voice::VoiceRecord& record) {
  if (record.model_fingerprint.empty()) return {};
  const std::shared_ptr<const speech::Model> model = engine.find_model(record.model_fingerprint);
  if (!model) return {};
  return speech::check_fit(record, fmt::format("voice '{}'", id), model->synthesizer->facts(), false);
}

std::int32_t cause_code(cache::EvictionCause cause) {
  switch (cause) {
    case cache::EvictionCause::kRoom:
      return TIMBRE_CAUSE_ROOM;
    case cache::EvictionCause::kBudget:
      return TIMBRE_CAUSE_BUDGET;
    case cache::EvictionCause::kTrim:
      return TIMBRE_CAUSE_TRIM;
    case cache::EvictionCause::kRemoved:
      return TIMBRE_CAUSE_REMOVED;
    case cache::EvictionCause::kReplaced:
      return TIMBRE_CAUSE_REPLACED;
    case cache::EvictionCause::kCleared:
      break;
  }
  return TIMBRE_CAUSE_CLEARED;
}

void tell_tier(const bank::TierReport& report, std::int32_t tier, timbre_voice_explanation& out) {
  out.tier = tier;
  out.version = report.version.sequence;
  out.checksum = report.version.checksum;
  out.size_bytes = report.bytes;
  out.leases = report.leases;
}

/// What the store has of a voice that no tier has.
Result<void> tell_store(store::VoiceStore& store, std::string_view id, timbre_voice_explanation& out) {
  Result<std::unique_ptr<store::VoiceLoad>> load = store.begin_load(id);
  if (!load) return std::move(load).error();
  Result<std::optional<store::StoredVoice>> found = (*load)->pump(bank::Clock::time_point::max());
  if (!found && found.error().status == Status::kNotFound) return {};
  if (!found) return std::move(found).error();
  if (!*found) return {};
  out.tier = TIMBRE_TIER_STORE;
  out.version = (*found)->version.sequence;
  out.checksum = (*found)->version.checksum;
  out.size_bytes = voice::layout_of(*(*found)->record).row_bytes;
  return {};
}

Result<timbre_voice_explanation> explain(VoiceTiers& voices, std::string_view id) {
  const bank::VoiceReport report = voices.bank().explain(id);
  timbre_voice_explanation out{};
  out.loading = report.is_loading ? 1 : 0;
  out.known_missing = report.is_known_missing ? 1 : 0;
  out.recent_uses = report.recent_uses;
  if (const std::optional<bank::Departure>& gone = report.device.last_departure) {
    out.eviction_cause = cause_code(gone->cause);
    out.eviction_age_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(bank::Clock::now() - gone->when).count());
  }
  if (report.device.is_there) {
    tell_tier(report.device, TIMBRE_TIER_DEVICE, out);
  } else if (report.host && report.host->is_there) {
    tell_tier(*report.host, TIMBRE_TIER_HOST, out);
  } else if (Result<void> told = tell_store(voices.keeper().store(), id, out); !told) {
    return std::move(told).error();
  }
  return out;
}

}  // namespace
}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Result;
using timbre::Status;

extern "C" {

timbre_status timbre_voice_record_init(timbre_voice_record* record, uint32_t struct_size) {
  return guard([&] { return init_struct(record, struct_size, default_record()); });
}

timbre_status timbre_voice_put_options_init(timbre_voice_put_options* options, uint32_t struct_size) {
  return guard([&] { return init_struct(options, struct_size, default_put_options()); });
}

timbre_status timbre_voice_put(timbre_engine* engine, const char* id, const timbre_voice_record* record,
                               const timbre_voice_put_options* given, uint64_t* out_version) {
  return guard([&]() -> Result<void> {
    if (out_version != nullptr) *out_version = 0;
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    Result<std::string> name = read_voice_id(id);
    if (!name) return std::move(name).error();
    Result<timbre_voice_put_options> options =
        given == nullptr ? default_put_options() : read_struct(given, default_put_options(), "options");
    if (!options) return std::move(options).error();
    Result<timbre::voice::VoiceRecord> owned = read_record(record);
    if (!owned) return timbre::Error{owned.error().status, fmt::format("voice '{}': {}", *name, owned.error().message)};
    if (Result<void> fit = check_loaded_model(**state, *name, *owned); !fit) return fit;
    std::optional<timbre::store::Expected> expected;
    if (options->expected_version != TIMBRE_AUTO_U64) expected = {options->expected_version, std::nullopt};
    VoiceTiers& voices = (*state)->voices();
    timbre::store::VoiceStore* const into = options->ephemeral != 0 ? &voices.keeper().ephemeral() : nullptr;
    const Result<timbre::store::Version> version = voices.bank().put(*name, std::move(*owned), expected, into);
    if (!version) return version.error();
    if (out_version != nullptr) *out_version = version->sequence;
    return {};
  });
}

timbre_status timbre_voice_remove(timbre_engine* engine, const char* id) {
  return guard([&]() -> Result<void> {
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    Result<std::string> name = read_voice_id(id);
    if (!name) return std::move(name).error();
    return (*state)->voices().bank().remove(*name);
  });
}

timbre_status timbre_voice_list(timbre_engine* engine, const char* prefix, const char* cursor, char* out_ids,
                                uint64_t capacity, uint64_t* out_size, uint64_t* out_count) {
  return guard([&]() -> Result<Status> {
    if (out_size == nullptr || out_count == nullptr) return invalid("out_size or out_count is NULL");
    *out_size = 0;
    *out_count = 0;
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    if (out_ids == nullptr && capacity > 0) return invalid("out_ids is NULL");
    Result<std::string> begin = read_text(prefix, "prefix");
    if (!begin) return std::move(begin).error();
    Result<std::string> after = read_text(cursor, "cursor");
    if (!after) return std::move(after).error();
    constexpr std::size_t kPage = 1024;
    const Result<std::vector<std::string>> ids = (*state)->voices().bank().list(*begin, *after, kPage);
    if (!ids) return ids.error();
    if (ids->empty()) return Status::kDone;
    std::uint64_t size = 0;
    for (const std::string& id : *ids) {
      if (id.size() + 1 > capacity - size) break;
      std::memcpy(out_ids + size, id.c_str(), id.size() + 1);
      size += id.size() + 1;
      ++*out_count;
    }
    *out_size = *out_count == 0 ? ids->front().size() + 1 : size;
    if (*out_count == 0) return invalid(fmt::format("room for {} bytes, the next id needs {}", capacity, *out_size));
    return Status::kOk;
  });
}

timbre_status timbre_voice_explain(timbre_engine* engine, const char* id, timbre_voice_explanation* out) {
  return guard([&]() -> Result<void> {
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const Result<std::string> name = read_voice_id(id);
    if (!name) return name.error();
    const Result<timbre_voice_explanation> told = explain((*state)->voices(), *name);
    if (!told) return told.error();
    return write_struct(out, *told, "out");
  });
}

}  // extern "C"
