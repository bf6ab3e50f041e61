// SPDX-License-Identifier: MIT
//
// Device: where the cache keeps its bytes. Pages, ordered copies, events and a reading of free memory; nothing else.
//
// Invariants
//   * Memory is taken and given back in whole pages; a run of pages is contiguous in addresses (a device that maps
//     pages needs no contiguous memory for it).
//   * Work given to one stream is done in order. Work on two streams is ordered only by order_after().
//   * A page that is freed may be gone at once: the caller has seen every event of its last use pass.
//   * No member blocks but wait(), and none throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "timbre/core/result.hpp"

namespace timbre::device {

/// An address in the device's memory; 0 is no address. Only where `host_addressable` may the CPU follow it.
using Address = std::uintptr_t;

/// A queue of ordered work; the device's own handle (a CUstream for CUDA). 0 is the device's default stream.
enum class Stream : std::uintptr_t { kDefault = 0 };

/// A point in a stream. Numbers never repeat while the device lives; 0 is a point that has always passed.
enum class Event : std::uint64_t { kPassed = 0 };

struct MemoryReading {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

struct Properties {
  std::string name;
  std::size_t page_bytes = 0;     ///< what allocate() counts in; a power of two, a multiple of row_alignment
  std::size_t row_alignment = 0;  ///< rows of different owners keep this distance, in bytes; a power of two
  bool maps_pages = false;        ///< a run of pages needs no contiguous memory, only a page each
  bool host_addressable = false;  ///< an Address is a pointer of this process
};

/// A memory with its streams. Thread safety: all members may be called from any thread.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Constant for the device's life.
  [[nodiscard]] virtual const Properties& properties() const noexcept = 0;

  /// A run of `page_count` (>= 1) pages, not cleared, at a multiple of row_alignment. Errors: kOutOfMemory, after which
  /// everything is as before; kInvalidArgument for 0 pages.
  [[nodiscard]] virtual Result<Address> allocate(std::size_t page_count) = 0;

  /// Gives back a run exactly as allocate() returned it. Nothing may use it any more (see above).
  virtual void free(Address run, std::size_t page_count) noexcept = 0;

  /// Bytes from host memory to the device, in stream order. The host bytes may be reused when the call returns.
  /// As for all copies, the bytes on the device lie within one run, and 0 bytes are no work. Error, as for all work
  /// below: kIo when the device fails; then nothing was given to the stream.
  [[nodiscard]] virtual Result<void> upload(Address to, const void* from, std::size_t bytes, Stream stream) = 0;

  /// Bytes from the device to host memory, in stream order. They are there when an event recorded after it has passed.
  [[nodiscard]] virtual Result<void> download(void* to, Address from, std::size_t bytes, Stream stream) = 0;

  /// Bytes within the device, in stream order; the two ranges do not overlap.
  [[nodiscard]] virtual Result<void> copy(Address to, Address from, std::size_t bytes, Stream stream) = 0;

  /// A point after all work given to `stream` so far.
  [[nodiscard]] virtual Result<Event> record(Stream stream) = 0;

  /// Whether the point has passed. Never blocks; true for every later call once it was true.
  [[nodiscard]] virtual bool passed(Event event) noexcept = 0;

  /// Blocks until the point has passed.
  [[nodiscard]] virtual Result<void> wait(Event event) = 0;

  /// Work given to `stream` from now on starts after the point has passed.
  [[nodiscard]] virtual Result<void> order_after(Stream stream, Event event) = 0;

  /// Free and total bytes of the whole memory, all processes together, as its owner tells them: a caller must expect
  /// readings that are impossible (free > total, 0) or fail (kIo).
  [[nodiscard]] virtual Result<MemoryReading> memory() = 0;
};

}  // namespace timbre::device
