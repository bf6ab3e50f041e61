// SPDX-License-Identifier: MIT
#include "store/blob_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

namespace timbre::store {
namespace {

constexpr std::string_view kUnnamedPrefix = "new-";
constexpr std::size_t kHexDigits = 64;
constexpr std::uint64_t kMaxBytes = std::uint64_t{8} << 30U;

Error io_error(const std::string& path, int error) {
  const Status status = error == ENOENT ? Status::kNotFound : Status::kIo;
  return {status, fmt::format("{}: {}", path, std::strerror(error))};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<BlobName> name_from_hex(std::string_view text) {
  if (text.size() != kHexDigits) return std::nullopt;
  BlobName name;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    name[i] = static_cast<std::byte>(high * 16 + low);
  }
  return name;
}

/// Whether who wrote an unnamed file is gone: its lock is free.
bool is_abandoned(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

std::string random_text() {
  static std::atomic<std::uint32_t> count{0};
  std::random_device device;
  return fmt::format("{:08x}{:08x}-{}", device(), device(), count.fetch_add(1));
}

}  // namespace

BlobName blob_name(std::span<const std::byte> bytes) {
  BlobName name;
  crypto_generichash_blake2b(reinterpret_cast<unsigned char*>(name.data()), name.size(),
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return name;
}

std::string hex_of(std::span<const std::byte> name) {
  std::string text;
  for (const std::byte byte : name) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

BlobFiles::Unnamed::Unnamed(Unnamed&& other) noexcept
    : path_(std::exchange(other.path_, {})), descriptor_(std::exchange(other.descriptor_, -1)), name_(other.name_) {}

BlobFiles::Unnamed::~Unnamed() {
  if (!path_.empty()) unlink(path_.c_str());
  if (descriptor_ >= 0) close(descriptor_);
}

std::string BlobFiles::path_of(std::span<const std::byte> name) const { return folder_ + "/" + hex_of(name); }

Result<void> BlobFiles::make_folder() {
  if (mkdir(folder_.c_str(), 0777) == 0) {
    const std::string parent = std::filesystem::path(folder_).parent_path();
    const Descriptor above(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (above.get() < 0 || fsync(above.get()) != 0) return io_error(parent, errno);
    return {};
  }
  if (errno != EEXIST) return io_error(folder_, errno);
  return {};
}

Result<void> BlobFiles::sync_folder() const {
  const Descriptor folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || fsync(folder.get()) != 0) return io_error(folder_, errno);
  return {};
}

Result<BlobFiles::Unnamed> BlobFiles::write(std::span<const std::byte> bytes) {
  if (Result<void> made = make_folder(); !made) return std::move(made).error();
  Unnamed file;
  const std::string path = fmt::format("{}/{}{}", folder_, kUnnamedPrefix, random_text());
  file.descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file.descriptor_ < 0) return io_error(path, errno);
  file.path_ = path;
  // A sweep may come between open and this, hold the lock and unlink the file; then publish() finds no file to rename.
  if (flock(file.descriptor_, LOCK_EX) != 0 || !write_all(file.descriptor_, bytes) || fsync(file.descriptor_) != 0) {
    return Error{Status::kIo, fmt::format("{}: {} bytes: {}", path, bytes.size(), std::strerror(errno))};
  }
  file.name_ = blob_name(bytes);
  return file;
}

Result<void> BlobFiles::publish(Unnamed& file) {
  const std::string named = path_of(file.name_);
  if (rename(file.path_.c_str(), named.c_str()) != 0) return io_error(file.path_, errno);
  file.path_.clear();
  return sync_folder();
}

Result<void> BlobFiles::erase(std::span<const std::byte> name) {
  const std::string path = path_of(name);
  if (unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return io_error(path, errno);
  }
  return sync_folder();
}

Result<std::vector<std::byte>> BlobFiles::read(std::span<const std::byte> name) const {
  const std::string path = path_of(name);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return io_error(path, errno);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size > kMaxBytes) return Error{Status::kFormat, fmt::format("{}: {} bytes are no record", path, size)};
  std::vector<std::byte> bytes(size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path, errno);
    if (got == 0) break;  // cut meanwhile: the record's length tells
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Result<std::uint64_t> BlobFiles::sweep(const std::function<Result<bool>(std::span<const std::byte>)>& is_used) {
  std::uint64_t count = 0;
  std::error_code failed;
  std::filesystem::directory_iterator at(folder_, failed);
  if (failed) return count;  // no folder yet
  for (; at != std::filesystem::directory_iterator(); at.increment(failed)) {
    const std::string file = at->path().filename();
    const std::optional<BlobName> name = name_from_hex(file);
    bool is_orphan = false;
    if (name) {
      const Result<bool> used = is_used(*name);
      if (!used) return used.error();
      is_orphan = !*used;
    } else if (file.starts_with(kUnnamedPrefix)) {
      is_orphan = is_abandoned(at->path());
    }
    if (is_orphan && unlink(at->path().c_str()) == 0) ++count;
    if (failed) break;
  }
  if (count == 0) return count;
  if (Result<void> synced = sync_folder(); !synced) return std::move(synced).error();
  return count;
}

}  // namespace timbre::store
