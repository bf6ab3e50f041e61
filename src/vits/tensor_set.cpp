// SPDX-License-Identifier: MIT
#include "vits/tensor_set.hpp"

#include <xxhash.h>

#include <array>
#include <cstdint>

namespace timbre::vits {
namespace {

/// XXH3-128 state, freed at the end of a scope.
struct Hash {
  XXH3_state_t* state = XXH3_createState();
  Hash() { XXH3_128bits_reset(state); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  ~Hash() { XXH3_freeState(state); }

  void add(const void* bytes, std::size_t count) {
    if (count > 0) XXH3_128bits_update(state, bytes, count);
  }
  void add_number(std::uint64_t value) {  // little-endian on every machine
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    add(bytes.data(), bytes.size());
  }
};

std::string hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4U) out[i] = kDigits[value & 15U];
  return out;
}

}  // namespace

std::string fingerprint(std::span<const TensorSet* const> sets) {
  Hash hash;
  for (const TensorSet* set : sets) {
    for (const auto& [name, view] : set->tensors) {
      hash.add_number(name.size());
      hash.add(name.data(), name.size());
      const std::string_view dtype = voice::dtype_name(view.dtype);
      hash.add_number(dtype.size());
      hash.add(dtype.data(), dtype.size());
      hash.add_number(view.shape.size());
      for (const std::int64_t size : view.shape) hash.add_number(static_cast<std::uint64_t>(size));
      hash.add(view.bytes.data(), view.bytes.size());
    }
  }
  const XXH128_hash_t digest = XXH3_128bits_digest(hash.state);
  return hex(digest.high64) + hex(digest.low64);
}

std::string TensorSet::fingerprint() const {
  const TensorSet* const self = this;
  return vits::fingerprint({&self, 1});
}

}  // namespace timbre::vits
