// SPDX-License-Identifier: MIT
//
// LeaseSource: speech's voices from the bank.
//
// Invariant: the record is made from a lease's bytes and layout, so that what is spoken is what is leased; a copy of a
// few kilobytes, after which the lease goes back.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bank/voice_bank.hpp"
#include "voice/voice_source.hpp"

namespace timbre::bank {

/// The record of a lease, without its free texts. Waits for a download where the device is another memory.
[[nodiscard]] Result<voice::VoiceRecord> record_of(device::Device& device, const VoiceLease& lease,
                                                   device::Stream stream);

/// Thread safety: as the bank, which outlives it.
class LeaseSource final : public voice::VoiceSource {
 public:
  /// @param wait  of each get(); what it refers to outlives this.
  explicit LeaseSource(VoiceBank& bank, Wait wait = {}, device::Stream stream = device::Stream::kDefault)
      : bank_(bank), wait_(wait), stream_(stream) {}

  Result<std::optional<voice::Voice>> try_get(std::string_view id) override;
  Result<voice::Voice> get(std::string_view id) override;

 private:
  Result<voice::Voice> voice_of(Result<VoiceLease> lease);

  VoiceBank& bank_;
  Wait wait_;
  device::Stream stream_;
};

}  // namespace timbre::bank
