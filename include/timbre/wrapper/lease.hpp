// SPDX-License-Identifier: MIT
//
// VoiceLease: the right to use one version of a voice, given back once: by release, release_on or the destructor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "timbre/wrapper/tensor.hpp"

namespace timbre {

/// A lease on one version of a voice: while it is held, the voice's bytes neither move nor change. It may outlive its
/// engine. Thread safety: as a value.
class VoiceLease {
 public:
  /// No lease.
  VoiceLease() noexcept = default;
  explicit VoiceLease(timbre_lease owned) noexcept : lease_(owned) {}
  VoiceLease(VoiceLease&& from) noexcept : lease_(std::exchange(from.lease_, timbre_lease{})) {}
  VoiceLease& operator=(VoiceLease&& from) noexcept {
    if (this != &from) {
      give_back();
      lease_ = std::exchange(from.lease_, timbre_lease{});
    }
    return *this;
  }
  ~VoiceLease() { give_back(); }

  /// Whether it is held: not moved from, not given back.
  explicit operator bool() const noexcept { return lease_.owner != nullptr; }
  [[nodiscard]] const timbre_lease* get() const noexcept { return &lease_; }

  /// Gives it back now. Throws INVALID_ARGUMENT where there is none, as after an earlier release.
  void release() { check(timbre_voice_release(&lease_)); }
  /// Gives back what work on `stream` may still use: the bytes stay until the stream has passed this point.
  void release_on(std::uint64_t stream) { check(timbre_voice_release_on(&lease_, stream)); }
  /// Makes work that is given to `stream` from now on wait until the bytes are on the device.
  void wait_on(std::uint64_t stream) const { check(timbre_voice_wait_on(&lease_, stream)); }

  /// Its strings live as long as this lease.
  [[nodiscard]] timbre_voice_details info() const {
    timbre_voice_details details{};
    details.struct_size = sizeof details;
    check(timbre_voice_info(&lease_, &details));
    return details;
  }
  [[nodiscard]] std::uint64_t version() const { return info().version; }

  /// Names of its tensors, in the order of their record.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names(info().tensor_count);
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      const char* name = nullptr;
      check(timbre_voice_tensor_name(&lease_, i, &name));
      names[i] = name;
    }
    return names;
  }

  /// A view, valid as long as this lease: tensor("g").values<float>(). Throws NOT_FOUND.
  [[nodiscard]] Tensor tensor(const std::string& name) const& {
    timbre_tensor found{};
    found.struct_size = sizeof found;
    check(timbre_voice_tensor(&lease_, c_string(name), &found));
    return Tensor(found);
  }
  Tensor tensor(const std::string& name) const&& = delete;  // the view would outlive the lease

  /// Exports a tensor: a DLManagedTensorVersioned *, READ_ONLY, which the caller ends by its deleter. It is a lease of
  /// its own.
  [[nodiscard]] void* dlpack(const std::string& name) const {
    void* managed = nullptr;
    check(timbre_voice_dlpack(&lease_, c_string(name), &managed));
    return managed;
  }

 private:
  void give_back() noexcept {
    if (lease_.owner != nullptr) static_cast<void>(timbre_voice_release(&lease_));
  }

  timbre_lease lease_{};
};

}  // namespace timbre
