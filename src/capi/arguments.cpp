// SPDX-License-Identifier: MIT
#include "capi/arguments.hpp"

#include <utf8proc.h>

namespace timbre::capi {
namespace {

constexpr std::size_t kMaxVoiceIdBytes = 512;

}  // namespace

Result<std::string> read_text(const char* text, std::uint64_t size, const char* what) {
  if (text == nullptr && size > 0) return invalid(fmt::format("{} is NULL", what));
  if (size > (std::uint64_t{1} << 40U))
    return invalid(fmt::format("{} has an impossible size of {} bytes", what, size));
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text);
  for (std::uint64_t at = 0; at < size;) {
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t used = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(size - at), &code_point);
    if (used <= 0) return invalid(fmt::format("{} is not UTF-8 at byte {}", what, at));
    at += static_cast<std::uint64_t>(used);
  }
  return std::string(text == nullptr ? "" : text, size);
}

Result<std::string> read_text(const char* text, const char* what) {
  return read_text(text, text == nullptr ? 0 : std::strlen(text), what);
}

Result<std::string_view> view_voice_id(const char* id) {
  if (id == nullptr) return invalid("the voice id is NULL");
  const std::size_t size = strnlen(id, kMaxVoiceIdBytes + 1);
  if (size == 0 || size > kMaxVoiceIdBytes) {
    return invalid(
        fmt::format("a voice id has 1..{} bytes, this one has {}", kMaxVoiceIdBytes, size == 0 ? "none" : "more"));
  }
  return std::string_view(id, size);
}

Result<std::string> read_voice_id(const char* id) {
  const Result<std::string_view> view = view_voice_id(id);
  if (!view) return view.error();
  return read_text(id, view->size(), "the voice id");
}

Result<std::chrono::steady_clock::time_point> read_deadline(std::int32_t timeout_ms) {
  if (timeout_ms < -1) return invalid(fmt::format("timeout_ms {} is below -1", timeout_ms));
  if (timeout_ms == -1) return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

Result<void> check_host_bytes(std::uint64_t bytes, const char* what) {
  if (bytes == TIMBRE_AUTO_U64) return {};
  return invalid(fmt::format(
      "{} is {}: with device 'cpu' the device's cache is the host's, so it must be TIMBRE_AUTO_U64", what, bytes));
}

}  // namespace timbre::capi
