// SPDX-License-Identifier: MIT
#include "bank/kernel_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace timbre::bank {
namespace {

constexpr std::size_t kMaxBytes = 64 * 1024;

#if defined(__linux__)
/// ESRCH: a process that ended while its file was open; ENODEV: a control group that was removed.
Error file_error(const std::string& path, int error) {
  const bool gone = error == ENOENT || error == ENOTDIR || error == ESRCH || error == ENODEV;
  return {gone ? Status::kNotFound : Status::kIo, path + ": " + std::strerror(error)};
}
#endif

}  // namespace

Result<std::string> read_kernel_file(const std::string& path) {
#if defined(__linux__)
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return file_error(path, errno);
  std::string text(kMaxBytes + 1, '\0');
  std::size_t size = 0;
  ssize_t count = 0;
  do {
    count = read(file, text.data() + size, text.size() - size);
    if (count > 0) size += static_cast<std::size_t>(count);
  } while (size < text.size() && (count > 0 || (count < 0 && errno == EINTR)));
  const int error = errno;
  close(file);
  if (count < 0) return file_error(path, error);
  if (size > kMaxBytes) return Error{Status::kFormat, path + ": more than 64 KiB"};
  text.resize(size);
  return text;
#else
  return Error{Status::kUnsupported, path + ": only Linux has such files"};
#endif
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return false;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + first, end, number);
  if (error == std::errc::result_out_of_range) number = UINT64_MAX;
  if (error == std::errc::invalid_argument) return false;
  return rest == end || std::strchr(" \t\n", *rest) != nullptr;
}

std::string_view line_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > key.size() && line.substr(0, key.size()) == key &&
        (line[key.size()] == ':' || line[key.size()] == ' ')) {
      return line.substr(key.size() + 1);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 32)));
}

}  // namespace timbre::bank
