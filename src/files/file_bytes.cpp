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

}  // namespace

Result<FileBytes> read_file_bytes(const std::string& path) {
  const File file(path);
  if (file.get() < 0) return file_error(path, errno);
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return file_error(path, errno);
  if (!S_ISREG(facts.st_mode)) return Error{Status::kIo, fmt::format("{}: not a regular file", path)};
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size == 0) return Error{Status::kFormat, fmt::format("{}: the file is empty", path)};
  if (size > kMaxFileBytes)
    return Error{Status::kFormat, fmt::format("{}: {} bytes is too large for a model", path, size)};
  const std::shared_ptr<std::byte[]> bytes(new std::byte[size]);
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t got = read(file.get(), bytes.get() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, errno);
    if (got == 0)
      return Error{Status::kIo, fmt::format("{}: ends at byte {} of {} while it is read", path, done, size)};
    done += static_cast<std::uint64_t>(got);
  }
  return FileBytes{{bytes.get(), size}, bytes};
}

}  // namespace timbre::files
