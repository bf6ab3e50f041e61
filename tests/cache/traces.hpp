// SPDX-License-Identifier: MIT
//
// Requests recorded elsewhere, as data/traces keeps them. liblzma unpacks them.
#pragma once

#include <lzma.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/workloads.hpp"

namespace timbre::cache {

/// The unpacked bytes of an .xz file. Throws std::runtime_error naming the file.
inline std::string unpack_xz(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (packed.empty()) throw std::runtime_error(path + ": cannot be read or is empty");
  std::string bytes(std::size_t{16} << 20U, '\0');
  for (;;) {
    std::uint64_t memory_limit = std::uint64_t{256} << 20U;
    std::size_t in = 0;
    std::size_t out = 0;
    const lzma_ret ret =
        lzma_stream_buffer_decode(&memory_limit, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &in,
                                  packed.size(), reinterpret_cast<std::uint8_t*>(bytes.data()), &out, bytes.size());
    if (ret == LZMA_BUF_ERROR && bytes.size() < std::size_t{1} << 30U) {
      bytes.resize(bytes.size() * 2);
      continue;
    }
    if (ret != LZMA_OK) throw std::runtime_error(path + ": is no sound .xz file (liblzma " + std::to_string(ret) + ")");
    bytes.resize(out);
    return bytes;
  }
}

/// A trace of big-endian 32-bit keys: at most `count` requests of weight 1.
inline std::vector<Request> read_key_trace(const std::string& path, std::size_t count) {
  const std::string bytes = unpack_xz(path);
  std::vector<Request> requests;
  for (std::size_t i = 0; i + 4 <= bytes.size() && requests.size() < count; i += 4) {
    std::uint32_t key = 0;
    for (std::size_t j = 0; j < 4; ++j) key = key << 8U | static_cast<unsigned char>(bytes[i + j]);
    requests.push_back({key, 1});
  }
  return requests;
}

/// A trace of text lines "time id bytes".
inline std::vector<Request> read_sized_trace(const std::string& path) {
  std::istringstream lines(unpack_xz(path));
  std::vector<Request> requests;
  std::uint64_t time = 0;
  Request request;
  while (lines >> time >> request.key >> request.weight) requests.push_back(request);
  return requests;
}

}  // namespace timbre::cache
