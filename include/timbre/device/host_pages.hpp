// SPDX-License-Identifier: MIT
//
// HostPages: a range of this process's addresses that takes memory from the system and really gives it back. All that
// the library asks of the system about memory is in this file.
//
// Invariants
//   * A range is reserved once and never moves; reserving takes addresses, not memory.
//   * Bytes are in one of two states: reserved (a touch faults) or committed (readable and writable; they read as zeros
//     until written). Committed bytes take memory only where they were touched.
//   * decommit() and revoke() give memory back at once: the process's resident set falls.
//
// POSIX is mmap, mprotect and madvise. The Windows part follows the documentation of VirtualAlloc; it compiles with
// MinGW and has never been run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "timbre/core/result.hpp"

#if defined(_WIN32)
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace timbre::device {

/// Owner of one reserved range. Thread safety: calls on disjoint parts of the range may run at once.
class HostPages {
 public:
  HostPages() = default;
  HostPages(HostPages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HostPages& operator=(HostPages&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~HostPages() { reset(); }

  /// The system's page: every offset and length below is a multiple of it.
  [[nodiscard]] static std::size_t page_bytes() noexcept;

  /// Addresses for `bytes` (>= 1, rounded up to whole pages), all of them reserved. Error: kOutOfMemory.
  [[nodiscard]] static Result<HostPages> reserve(std::size_t bytes);

  /// Takes over what detach() let go.
  [[nodiscard]] static HostPages adopt(void* data, std::size_t bytes) noexcept { return {data, bytes}; }

  /// Makes a part of the range readable and writable. What was committed before keeps its contents. Error:
  /// kOutOfMemory.
  [[nodiscard]] Result<void> commit(std::size_t offset, std::size_t bytes);

  /// Gives the memory of a committed part back and keeps the part committed. On POSIX another thread may read meanwhile
  /// and finds the old bytes or zeros; on Windows such a read may fault.
  void decommit(std::size_t offset, std::size_t bytes) noexcept;

  /// Gives the memory of a part back and makes it reserved again.
  void revoke(std::size_t offset, std::size_t bytes) noexcept;

  /// Gives up the range without releasing it; the caller now owns data() and size().
  void* detach() noexcept {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

  /// Memory and addresses go back to the system.
  void reset() noexcept;

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  HostPages(void* data, std::size_t bytes) noexcept : data_(data), size_(bytes) {}

  [[nodiscard]] char* at(std::size_t offset) const noexcept { return static_cast<char*>(data_) + offset; }
  static Error failed(const char* what, std::size_t bytes);

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

inline Error HostPages::failed(const char* what, std::size_t bytes) {
#if defined(_WIN32)
  const std::error_code code(static_cast<int>(GetLastError()), std::system_category());
#else
  const std::error_code code(errno, std::generic_category());
#endif
  return {Status::kOutOfMemory, std::string(what) + " " + std::to_string(bytes) + " bytes: " + code.message()};
}

#if defined(_WIN32)

inline std::size_t HostPages::page_bytes() noexcept {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

inline Result<HostPages> HostPages::reserve(std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t size = (bytes + page - 1) / page * page;
  if (bytes == 0 || size < bytes) return Error{Status::kOutOfMemory, "no addresses for " + std::to_string(bytes)};
  void* const data = VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
  if (data == nullptr) return failed("reserving", bytes);
  return HostPages(data, size);
}

inline Result<void> HostPages::commit(std::size_t offset, std::size_t bytes) {
  if (VirtualAlloc(at(offset), bytes, MEM_COMMIT, PAGE_READWRITE) == nullptr) return failed("committing", bytes);
  return {};
}

inline void HostPages::decommit(std::size_t offset, std::size_t bytes) noexcept {
  VirtualFree(at(offset), bytes, MEM_DECOMMIT);
  VirtualAlloc(at(offset), bytes, MEM_COMMIT, PAGE_READWRITE);
}

inline void HostPages::revoke(std::size_t offset, std::size_t bytes) noexcept {
  VirtualFree(at(offset), bytes, MEM_DECOMMIT);
}

inline void HostPages::reset() noexcept {
  if (data_ != nullptr) VirtualFree(data_, 0, MEM_RELEASE);
  detach();
}

#else

inline std::size_t HostPages::page_bytes() noexcept {
  static const std::size_t kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

inline Result<HostPages> HostPages::reserve(std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t size = (bytes + page - 1) / page * page;
  if (bytes == 0 || size < bytes) return Error{Status::kOutOfMemory, "no addresses for " + std::to_string(bytes)};
  void* const data = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return failed("reserving", bytes);
  return HostPages(data, size);
}

inline Result<void> HostPages::commit(std::size_t offset, std::size_t bytes) {
  if (mprotect(at(offset), bytes, PROT_READ | PROT_WRITE) != 0) return failed("committing", bytes);
  return {};
}

inline void HostPages::decommit(std::size_t offset, std::size_t bytes) noexcept {
#if defined(__linux__)
  madvise(at(offset), bytes, MADV_DONTNEED);  // anonymous pages read as zeros afterwards
#else
  // Elsewhere the advice is only advice; a new mapping in place of the old one is not.
  mmap(at(offset), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
}

inline void HostPages::revoke(std::size_t offset, std::size_t bytes) noexcept {
  decommit(offset, bytes);
  mprotect(at(offset), bytes, PROT_NONE);
}

inline void HostPages::reset() noexcept {
  // Unmapping the middle of what the system has merged fails when the process has too many mappings. The memory goes
  // back all the same; the addresses stay taken.
  if (data_ != nullptr && munmap(data_, size_) != 0) decommit(0, size_);
  detach();
}

#endif

}  // namespace timbre::device
