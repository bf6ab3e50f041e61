// SPDX-License-Identifier: MIT
#include "files/file_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace timbre::files {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{8} << 30U;

class File {
 public:
  explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Where a link leads, or an empty string for anything else.
std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

Error file_error(const std::string& path, int error) {
  if (const std::string target = link_target(path); error == ENOENT && !target.empty())
    return {Status::kNotFound, fmt::format("{}: a broken link to {}", path, target)};
  const Status status = error == ENOENT || error == ENOTDIR ? Status::kNotFound : Status::kIo;
  return {status, fmt::format("{}: {}", path, std::strerror(error))};
}

Result<std::uint64_t> size_of_regular(const File& file, const std::string& path) {
  if (file.get() < 0) return file_error(path, errno);
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return file_error(path, errno);
  if (!S_ISREG(facts.st_mode)) return Error{Status::kIo, fmt::format("{}: not a regular file", path)};
  return static_cast<std::uint64_t>(facts.st_size);
}

/// Fills `out` from where the file stands.
Result<void> read_exactly(const File& file, const std::string& path, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = read(file.get(), out.data() + done, out.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, errno);
    if (got == 0)
      return Error{Status::kIo, fmt::format("{}: ends at byte {} of {} while it is read", path, done, out.size())};
    done += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

Result<FileBytes> read_file_bytes(const std::string& path) {
  const File file(path);
  const Result<std::uint64_t> size = size_of_regular(file, path);
  if (!size) return size.error();
  if (*size == 0) return Error{Status::kFormat, fmt::format("{}: the file is empty", path)};
  if (*size > kMaxFileBytes)
    return Error{Status::kFormat, fmt::format("{}: {} bytes is too large for a model", path, *size)};
  const std::shared_ptr<std::byte[]> bytes(new std::byte[*size]);
  const std::span<std::byte> room(bytes.get(), *size);
  if (Result<void> read = read_exactly(file, path, room); !read) return std::move(read).error();
  return FileBytes{room, bytes};
}

Result<std::string> read_file_head(const std::string& path, std::size_t limit_bytes) {
  const File file(path);
  const Result<std::uint64_t> size = size_of_regular(file, path);
  if (!size) return size.error();
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(*size, limit_bytes)), '\0');
  if (Result<void> read = read_exactly(file, path, std::as_writable_bytes(std::span(head))); !read)
    return std::move(read).error();
  return head;
}

}  // namespace timbre::files
