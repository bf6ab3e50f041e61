// SPDX-License-Identifier: MIT
#include "bank/lease_source.hpp"

#include <cstddef>
#include <span>
#include <utility>

#include "voice/packed_voice.hpp"

namespace timbre::bank {

Result<voice::VoiceRecord> record_of(device::Device& device, const VoiceLease& lease, device::Stream stream) {
  if (device.properties().host_addressable) {
    const auto* const row = reinterpret_cast<const std::byte*>(lease.address());  // NOLINT: memory of this process
    return voice::unpack(lease.layout(), {row, lease.bytes()});
  }
  auto row = std::make_unique<std::vector<std::byte>>(lease.bytes());
  if (Result<void> given = device.download(row->data(), lease.address(), row->size(), stream); !given) {
    return std::move(given).error();
  }
  const Result<device::Event> end = device.record(stream);
  const Result<void> there = end ? device.wait(*end) : Result<void>(end.error());
  if (!there) {
    static_cast<void>(row.release());  // the download may still write to it, and nobody can tell until when
    return there.error();
  }
  return voice::unpack(lease.layout(), *row);
}

Result<voice::Voice> LeaseSource::voice_of(Result<VoiceLease> lease) {
  if (!lease) return std::move(lease).error();
  Result<voice::VoiceRecord> record = record_of(bank_.device_tier().device, *lease, stream_);
  if (!record) return std::move(record).error();
  return voice::Voice{std::make_shared<const voice::VoiceRecord>(std::move(*record)), lease->version().sequence};
}

Result<std::optional<voice::Voice>> LeaseSource::try_get(std::string_view id) {
  Result<std::optional<VoiceLease>> lease = bank_.try_get(id);
  if (!lease) return std::move(lease).error();
  if (!*lease) return std::optional<voice::Voice>();
  Result<voice::Voice> voice = voice_of(std::move(**lease));
  if (!voice) return std::move(voice).error();
  return std::optional<voice::Voice>(std::move(*voice));
}

Result<voice::Voice> LeaseSource::get(std::string_view id) { return voice_of(bank_.get(id, wait_)); }

}  // namespace timbre::bank
