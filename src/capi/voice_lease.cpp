// SPDX-License-Identifier: MIT
//
// c/voice.h: leases, and what they tell.
//
// A get of a cached voice takes no lock, no reference on the engine and no memory; everything else may.
#include "capi/arguments.hpp"
#include "capi/engine_state.hpp"
#include "capi/lease_book.hpp"
#include "capi/voice_arguments.hpp"
#include "timbre/c/voice.h"

namespace timbre::capi {
namespace {

constexpr std::uint64_t kMaxBatch = 1U << 20U;

/// An engine that its caller keeps alive during the call, as every caller must.
Result<EngineState*> borrow_engine(const timbre_engine* engine) {
  if (engine == nullptr) return invalid("the engine is NULL");
  if (engine->state->closed()) return Error{Status::kClosed, "the engine was destroyed"};
  return engine->state.get();
}

/// What a wait for a voice ended with, as the C edge tells it.
Error told(const EngineState& engine, Error error) {
  if (error.status == Status::kCancelled && engine.closed()) return {Status::kClosed, "the engine was destroyed"};
  return error;
}

Result<void> get_missed(const timbre_engine& engine, const char* id, std::int32_t timeout_ms, timbre_lease& out) {
  const std::shared_ptr<EngineState> state = engine.state;
  const Result<std::string> name = read_voice_id(id);
  if (!name) return name.error();
  const Result<std::chrono::steady_clock::time_point> deadline = read_deadline(timeout_ms);
  if (!deadline) return deadline.error();
  Result<bank::VoiceLease> lease = state->voices().bank().get(*name, state->voices().wait_until(*deadline));
  if (!lease) {
    if (lease.error().status == Status::kTimeout) state->wake_background();
    return told(*state, std::move(lease).error());
  }
  Result<timbre_lease> given = state->leases().give(std::move(*lease));
  if (!given) return std::move(given).error();
  out = *given;
  return {};
}

Result<Status> try_missed(const timbre_engine& engine, const char* id, timbre_lease& out) {
  const std::shared_ptr<EngineState> state = engine.state;
  const Result<std::string> name = read_voice_id(id);
  if (!name) return name.error();
  Result<std::optional<bank::VoiceLease>> lease = state->voices().bank().try_get(*name);
  if (!lease) return told(*state, std::move(lease).error());
  if (!*lease) {
    state->wake_background();
    return Status::kPending;
  }
  Result<timbre_lease> given = state->leases().give(std::move(**lease));
  if (!given) return std::move(given).error();
  out = *given;
  return Status::kOk;
}

/// The lease of a cached voice. @return whether there was one.
Result<bool> get_cached(EngineState& engine, const char* id, timbre_lease& out) {
  const Result<std::string_view> name = view_voice_id(id);
  if (!name) return name.error();
  bank::VoiceLease lease = engine.voices().bank().find(*name);
  if (!lease) return false;
  const Result<timbre_lease> given = engine.leases().give(std::move(lease));
  if (!given) return given.error();
  out = *given;
  return true;
}

Result<void> check_ids(const char* const* ids, std::uint64_t count) {
  if (count > kMaxBatch) return invalid(fmt::format("{} ids in one call, at most {}", count, kMaxBatch));
  if (ids == nullptr && count > 0) return invalid("ids is NULL");
  return {};
}

/// Ids as the bank takes them; what is no id is "", which it answers with INVALID_ARGUMENT.
std::vector<std::string_view> view_ids(const char* const* ids, std::uint64_t count) {
  std::vector<std::string_view> views(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Result<std::string_view> view = view_voice_id(ids[i]);
    if (view) views[i] = *view;
  }
  return views;
}

Result<void> get_batch(EngineState& engine, const std::vector<std::string_view>& ids,
                       std::chrono::steady_clock::time_point deadline, timbre_lease* out, timbre_status* statuses) {
  std::vector<bank::VoiceLease> leases(ids.size());
  std::vector<Status> rows(ids.size(), Status::kOk);
  std::optional<Error> first =
      engine.voices().bank().get_batch(ids, leases, rows, engine.voices().wait_until(deadline));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (leases[i]) {
      Result<timbre_lease> given = engine.leases().give(std::move(leases[i]));
      if (given) {
        out[i] = *given;
      } else {
        rows[i] = given.error().status;
        if (!first) first = std::move(given).error();
      }
    }
    if (rows[i] == Status::kCancelled && engine.closed()) rows[i] = Status::kClosed;
    statuses[i] = static_cast<timbre_status>(rows[i]);
  }
  if (!first) return {};
  if (first->status == Status::kTimeout) engine.wake_background();
  return told(engine, std::move(*first));
}

timbre_voice_details details_of(const bank::VoiceLease& lease) {
  const voice::PackedLayout& layout = lease.layout();
  timbre_voice_details details{};
  details.tensor_count = static_cast<std::uint32_t>(layout.tensors.size());
  details.version = lease.version().sequence;
  details.checksum = lease.version().checksum;
  details.size_bytes = lease.bytes();
  details.model_fingerprint = layout.model_fingerprint.c_str();
  details.speaker = layout.speaker.value_or(TIMBRE_AUTO_I32);
  details.normalised = layout.normalised ? 1 : 0;
  details.sample_rate_hz = layout.sample_rate_hz;
  details.noise_scale = layout.scales.noise.value_or(TIMBRE_AUTO_F32);
  details.length_scale = layout.scales.length.value_or(TIMBRE_AUTO_F32);
  details.noise_w = layout.scales.noise_w.value_or(TIMBRE_AUTO_F32);
  return details;
}

/// With device "cpu" there is one stream, and work given to it has ended when the call that gave it returns.
Result<void> check_stream(std::uint64_t stream) {
  if (stream == 0) return {};
  return invalid(fmt::format("stream {:#x}: device 'cpu' has the stream 0 only", stream));
}

Result<void> release(timbre_lease* lease) {
  if (Result<void> given = LeaseBook::give_back(lease); !given) return given;
  *lease = {};
  return {};
}

Result<Status> told_prefetch(EngineState& engine, const bank::PrefetchReport& report, std::uint64_t* out_ready,
                             std::uint64_t* out_failed) {
  if (out_ready != nullptr) *out_ready = report.there + report.loaded;
  if (out_failed != nullptr) *out_failed = report.failed;
  if (report.first_error) engine.log().add(LogLevel::kWarning, "prefetch: " + report.first_error->message);
  if (report.pending == 0) return Status::kOk;
  engine.wake_background();
  return Status::kPending;
}

}  // namespace

}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Result;
using timbre::Status;

extern "C" {

timbre_status timbre_voice_get(timbre_engine* engine, const char* id, int32_t timeout_ms, timbre_lease* out_lease) {
  return guard([&]() -> Result<void> {
    if (out_lease == nullptr) return invalid("out_lease is NULL");
    *out_lease = {};
    const Result<EngineState*> state = borrow_engine(engine);
    if (!state) return state.error();
    const Result<bool> cached = get_cached(**state, id, *out_lease);
    if (!cached) return cached.error();
    if (*cached) return {};
    return get_missed(*engine, id, timeout_ms, *out_lease);
  });
}

timbre_status timbre_voice_try_get(timbre_engine* engine, const char* id, timbre_lease* out_lease) {
  return guard([&]() -> Result<Status> {
    if (out_lease == nullptr) return invalid("out_lease is NULL");
    *out_lease = {};
    const Result<EngineState*> state = borrow_engine(engine);
    if (!state) return state.error();
    const Result<bool> cached = get_cached(**state, id, *out_lease);
    if (!cached) return cached.error();
    if (*cached) return Status::kOk;
    return try_missed(*engine, id, *out_lease);
  });
}

timbre_status timbre_voice_get_batch(timbre_engine* engine, const char* const* ids, uint64_t count, int32_t timeout_ms,
                                     timbre_lease* out_leases, timbre_status* out_statuses) {
  return guard([&]() -> Result<void> {
    if (Result<void> checked = check_ids(ids, count); !checked) return checked;
    if (count > 0 && (out_leases == nullptr || out_statuses == nullptr)) {
      return invalid("out_leases or out_statuses is NULL");
    }
    std::fill_n(out_leases, count, timbre_lease{});
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const Result<std::chrono::steady_clock::time_point> deadline = read_deadline(timeout_ms);
    if (!deadline) return deadline.error();
    return get_batch(**state, view_ids(ids, count), *deadline, out_leases, out_statuses);
  });
}

timbre_status timbre_voice_info(const timbre_lease* lease, timbre_voice_details* out_details) {
  return guard([&]() -> Result<void> {
    const Result<const timbre::bank::VoiceLease*> held = LeaseBook::find(lease);
    if (!held) return held.error();
    return write_struct(out_details, details_of(**held), "out_details");
  });
}

timbre_status timbre_voice_tensor_name(const timbre_lease* lease, uint32_t index, const char** out_name) {
  return guard([&]() -> Result<void> {
    if (out_name == nullptr) return invalid("out_name is NULL");
    *out_name = "";
    const Result<const timbre::bank::VoiceLease*> held = LeaseBook::find(lease);
    if (!held) return held.error();
    const auto& tensors = (*held)->layout().tensors;
    if (index >= tensors.size()) {
      return invalid(fmt::format("tensor {} of voice '{}', which has {}", index, (*held)->id(), tensors.size()));
    }
    *out_name = tensors[index].name.c_str();
    return {};
  });
}

timbre_status timbre_voice_tensor(const timbre_lease* lease, const char* name, timbre_tensor* out_tensor) {
  return guard([&]() -> Result<void> {
    const Result<const timbre::bank::VoiceLease*> held = LeaseBook::find(lease);
    if (!held) return held.error();
    const Result<const timbre::voice::PackedTensor*> place = find_tensor(**held, name);
    if (!place) return place.error();
    return write_struct(out_tensor, tensor_of(**held, **place), "out_tensor");
  });
}

timbre_status timbre_voice_wait_on(const timbre_lease* lease, uint64_t stream) {
  return guard([&]() -> Result<void> {
    const Result<const timbre::bank::VoiceLease*> held = LeaseBook::find(lease);
    if (!held) return held.error();
    return check_stream(stream);
  });
}

timbre_status timbre_voice_release(timbre_lease* lease) {
  return guard([&] { return release(lease); });
}

timbre_status timbre_voice_release_on(timbre_lease* lease, uint64_t stream) {
  return guard([&]() -> Result<void> {
    const Result<const timbre::bank::VoiceLease*> held = LeaseBook::find(lease);
    if (!held) return held.error();
    if (Result<void> checked = check_stream(stream); !checked) return checked;
    return release(lease);
  });
}

timbre_status timbre_voice_prefetch(timbre_engine* engine, const char* const* ids, uint64_t count, int32_t timeout_ms,
                                    uint64_t* out_ready, uint64_t* out_failed) {
  return guard([&]() -> Result<Status> {
    if (out_ready != nullptr) *out_ready = 0;
    if (out_failed != nullptr) *out_failed = 0;
    if (Result<void> checked = check_ids(ids, count); !checked) return std::move(checked).error();
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const Result<std::chrono::steady_clock::time_point> deadline = read_deadline(timeout_ms);
    if (!deadline) return deadline.error();
    return told_prefetch(**state, (*state)->voices().bank().prefetch(view_ids(ids, count), *deadline), out_ready,
                         out_failed);
  });
}

timbre_status timbre_voice_prefetch_top(timbre_engine* engine, uint64_t count, int32_t timeout_ms, uint64_t* out_ready,
                                        uint64_t* out_failed) {
  return guard([&]() -> Result<Status> {
    if (out_ready != nullptr) *out_ready = 0;
    if (out_failed != nullptr) *out_failed = 0;
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    const Result<std::chrono::steady_clock::time_point> deadline = read_deadline(timeout_ms);
    if (!deadline) return deadline.error();
    return told_prefetch(**state, (*state)->voices().bank().prefetch_top(count, *deadline), out_ready, out_failed);
  });
}

}  // extern "C"
