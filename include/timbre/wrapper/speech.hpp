// SPDX-License-Identifier: MIT
//
// Utterances: what to say and how (Request), and the running thing itself (Speech).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "timbre/wrapper/handle.hpp"
#include "timbre/wrapper/lease.hpp"

namespace timbre {

/// timbre_speech_request with its defaults: what to say and how.
struct Request : timbre_speech_request {
  Request() { check(timbre_speech_request_init(this, sizeof(timbre_speech_request))); }
  explicit Request(std::string_view words, std::int32_t kind = TIMBRE_INPUT_TEXT) : Request() {
    input_kind = kind;
    text = words.empty() ? "" : words.data();
    text_bytes = words.size();
  }
  explicit Request(std::span<const std::int32_t> tokens) : Request() {
    input_kind = TIMBRE_INPUT_IDS;
    ids = tokens.data();
    id_count = tokens.size();
  }

  Request& set_tensors(std::span<const Tensor> views) {
    tensors = views.data();
    tensor_count = views.size();
    tensor_size = sizeof(Tensor);
    return *this;
  }
  Request& set_durations(std::span<const std::int32_t> frames) {
    durations = frames.data();
    duration_count = frames.size();
    return *this;
  }
  /// The voice of a held lease, in that version; the utterance takes a lease of its own.
  Request& set_lease(const VoiceLease& held) {
    lease = held.get();
    return *this;
  }
};

/// An utterance: its samples are pulled, one reader at a time. Destroying it cancels what still runs.
class Speech {
 public:
  explicit Speech(timbre_speech* owned) noexcept : handle_(owned) {}
  [[nodiscard]] timbre_speech* get() const noexcept { return handle_.get(); }

  /// Waits for at least one sample. @return samples written, 0 after the last one. Throws TIMEOUT, CANCELLED, ...
  std::size_t read(std::span<float> out) {
    std::uint64_t count = 0;
    check(timbre_speech_read(get(), out.data(), out.size(), &count));
    return static_cast<std::size_t>(count);
  }

  /// Never waits. @return nothing when no sample is ready yet, 0 after the last one, else samples written.
  std::optional<std::size_t> try_read(std::span<float> out) {
    std::uint64_t count = 0;
    if (check(timbre_speech_try_read(get(), out.data(), out.size(), &count)) == TIMBRE_PENDING) return std::nullopt;
    return static_cast<std::size_t>(count);
  }

  /// Everything that is still to come.
  std::vector<float> read_all() {
    std::vector<float> audio;
    std::array<float, 4096> part;
    while (const std::size_t count = read(part)) audio.insert(audio.end(), part.begin(), part.begin() + count);
    return audio;
  }

  /// From any thread; a waiting reader gets CANCELLED.
  void cancel() { check(timbre_speech_cancel(get())); }

  [[nodiscard]] timbre_speech_details info() const {
    timbre_speech_details details{};
    details.struct_size = sizeof details;
    check(timbre_speech_info(get(), &details));
    return details;
  }

  [[nodiscard]] timbre_speech_times timeline() const {
    timbre_speech_times times{};
    times.struct_size = sizeof times;
    check(timbre_speech_timeline(get(), &times));
    return times;
  }

  /// The marks known so far, from number `first` on.
  [[nodiscard]] std::vector<timbre_mark> marks(std::uint64_t first = 0) const {
    return pages<timbre_mark>(timbre_speech_marks, first);
  }

  /// The chunks that are ready, from number `first` on.
  [[nodiscard]] std::vector<timbre_chunk> chunks(std::uint64_t first = 0) const {
    return pages<timbre_chunk>(timbre_speech_chunks, first);
  }

 private:
  template <typename Element, typename Copy>
  [[nodiscard]] std::vector<Element> pages(Copy copy, std::uint64_t first) const {
    std::vector<Element> all;
    std::array<Element, 256> page{};
    std::uint64_t count = 0;
    do {
      check(copy(get(), first + all.size(), sizeof(Element), page.data(), page.size(), &count));
      all.insert(all.end(), page.begin(), page.begin() + static_cast<std::ptrdiff_t>(count));
    } while (count > 0);
    return all;
  }

  internal::Handle<timbre_speech, timbre_speech_close> handle_;
};

}  // namespace timbre
