// SPDX-License-Identifier: MIT
#include "vits/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace timbre::vits {
namespace {

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

Error io_error(const std::string& path, int code) {
  const Status status = code == ENOENT ? Status::kNotFound : Status::kIo;
  return Error{status, path + ": " + std::generic_category().message(code)};
}

}  // namespace

Result<MappedFile> map_beside(const std::string& directory, const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                     name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
  if (!plain) {
    return Error{Status::kFormat, "external data \"" + name + "\": only a plain name beside the model is allowed"};
  }
  const std::string path = directory + "/" + name;
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.number < 0) return io_error(path, errno);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) return io_error(path, errno);
  if (!S_ISREG(status.st_mode)) return Error{Status::kIo, path + ": not a regular file"};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile{};
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (at == MAP_FAILED) return io_error(path, errno);
  const std::shared_ptr<const void> owner(at, [size](const void* start) { ::munmap(const_cast<void*>(start), size); });
  return MappedFile{{static_cast<const std::byte*>(at), size}, owner};
}

}  // namespace timbre::vits
