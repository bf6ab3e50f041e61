// SPDX-License-Identifier: MIT
//
// Fuzzes the reader of voice records. Input: a whole record; its checksum is made to fit, so that what lies behind that
// check is reached. What is read must be written as the same bytes.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz_target.hpp"
#include "voice/record_format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace timbre;
  using test::require;
  const std::span<const std::byte> given = std::as_bytes(std::span(data, size));
  (void)test::succeeded(voice::decode(given, "as it is"));
  std::vector<std::byte> bytes(given.begin(), given.end());
  if (size >= 72) {
    const std::uint64_t total = size;
    std::memcpy(bytes.data() + 16, &total, sizeof total);
    const std::uint64_t checksum = voice::checksum_of(std::span(bytes).first(size - 8));
    std::memcpy(bytes.data() + size - 8, &checksum, sizeof checksum);
  }
  auto record = voice::decode(bytes, "sealed");
  if (!test::succeeded(record)) return 0;
  require(voice::check(*record).ok());
  const auto again = voice::encode(*record);
  require(again.ok() && again->bytes == bytes && again->checksum == voice::stored_checksum(bytes));
  return 0;
}
