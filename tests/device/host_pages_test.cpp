// SPDX-License-Identifier: MIT
#include "timbre/device/host_pages.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "resident.hpp"

namespace timbre::device {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

TEST_CASE("reserved addresses take no memory, touched ones do, and both ways back really give it back", "[device]") {
  auto pages = HostPages::reserve(64 * kMiB);
  REQUIRE(pages);
  REQUIRE(pages->size() == 64 * kMiB);
  REQUIRE(resident_bytes(pages->data(), pages->size()) == 0);
  REQUIRE(pages->commit(0, 32 * kMiB));
  REQUIRE(resident_bytes(pages->data(), pages->size()) == 0);
  std::memset(pages->data(), 1, 32 * kMiB);
  REQUIRE(resident_bytes(pages->data(), pages->size()) == 32 * kMiB);
  pages->decommit(0, 16 * kMiB);
  REQUIRE(resident_bytes(pages->data(), pages->size()) == 16 * kMiB);
  pages->revoke(16 * kMiB, 16 * kMiB);
  REQUIRE(resident_bytes(pages->data(), pages->size()) == 0);
}

TEST_CASE("committing again keeps what is there, and what was given back reads as zeros", "[device]") {
  const std::size_t page = HostPages::page_bytes();
  auto pages = HostPages::reserve(4 * page);
  REQUIRE(pages);
  REQUIRE(pages->commit(0, 2 * page));
  auto* bytes = static_cast<unsigned char*>(pages->data());
  REQUIRE(bytes[0] == 0);
  std::memset(bytes, 7, 2 * page);
  REQUIRE(pages->commit(page, 3 * page));
  REQUIRE(bytes[2 * page - 1] == 7);
  REQUIRE(bytes[2 * page] == 0);
  pages->decommit(0, page);
  REQUIRE(bytes[0] == 0);
  REQUIRE(bytes[page - 1] == 0);
  REQUIRE(bytes[page] == 7);
  pages->revoke(page, page);
  REQUIRE(pages->commit(page, page));
  REQUIRE(bytes[page] == 0);
}

TEST_CASE("a reader of decommitted pages finds the old bytes or zeros", "[device]") {
  auto pages = HostPages::reserve(kMiB);
  REQUIRE(pages);
  REQUIRE(pages->commit(0, kMiB));
  auto* words = static_cast<std::atomic<std::uint64_t>*>(pages->data());
  const std::size_t count = kMiB / sizeof(*words);
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> wrong{0};
  std::thread reader([&] {
    while (!is_over.load()) {
      for (std::size_t i = 0; i < count; i += 97) {
        const std::uint64_t word = words[i].load(std::memory_order_relaxed);
        if (word != 0 && word != i + 1) ++wrong;
      }
    }
  });
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < count; ++i) words[i].store(i + 1, std::memory_order_relaxed);
    pages->decommit(0, kMiB);
  }
  is_over = true;
  reader.join();
  REQUIRE(wrong == 0);
}

TEST_CASE("a range moves with its owner, and one that is let go stays until it is adopted", "[device]") {
  auto made = HostPages::reserve(1);
  REQUIRE(made);
  HostPages first = std::move(*made);
  REQUIRE(first.size() == HostPages::page_bytes());
  REQUIRE(first.commit(0, first.size()));
  HostPages second;
  second = std::move(first);
  REQUIRE(first.data() == nullptr);
  const std::size_t size = second.size();
  auto* const bytes = static_cast<unsigned char*>(second.detach());
  REQUIRE(second.data() == nullptr);
  second.reset();
  bytes[0] = 9;
  HostPages third = HostPages::adopt(bytes, size);
  REQUIRE(static_cast<unsigned char*>(third.data())[0] == 9);
  third.reset();
  REQUIRE_FALSE(is_mapped(bytes));
}

TEST_CASE("a range that cannot be is out of memory", "[device]") {
  for (const std::size_t bytes : {std::size_t{0}, SIZE_MAX, SIZE_MAX / 2}) {
    const auto pages = HostPages::reserve(bytes);
    REQUIRE_FALSE(pages);
    REQUIRE(pages.error().status == Status::kOutOfMemory);
    REQUIRE(pages.error().message.find(std::to_string(bytes)) != std::string::npos);
  }
}

}  // namespace
}  // namespace timbre::device
