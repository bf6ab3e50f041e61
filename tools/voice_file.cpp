// SPDX-License-Identifier: MIT
#include "voice_file.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "voice/safetensors.hpp"

namespace timbre::tools {
namespace {

// A voice is a few kilobytes; the largest that the library is made for has 10 MB.
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
  if (size > kMaxBytes) throw std::runtime_error(fmt::format("{}: {} bytes are too many for a voice", path, size));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) {
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return bytes;
}

/// TIMBRE_DTYPE_*, or 0 for what a voice cannot hold.
std::int32_t abi_dtype(voice::DType dtype) {
  switch (dtype) {
    case voice::DType::kF32:
      return TIMBRE_DTYPE_F32;
    case voice::DType::kF16:
      return TIMBRE_DTYPE_F16;
    case voice::DType::kBF16:
      return TIMBRE_DTYPE_BF16;
    case voice::DType::kI32:
      return TIMBRE_DTYPE_I32;
    case voice::DType::kI64:
      return TIMBRE_DTYPE_I64;
    default:
      return 0;
  }
}

}  // namespace

VoiceFile::VoiceFile(const std::string& path) : bytes_(read_file(path)) {
  const auto content = voice::read_safetensors(bytes_, path);
  if (!content) throw std::runtime_error(content.error().message);
  names_.reserve(content->tensors.size());  // the tensors point at the strings, which must not move
  for (const auto& [name, view] : content->tensors) {
    const std::int32_t dtype = abi_dtype(view.dtype);
    if (dtype == 0) {
      throw std::runtime_error(fmt::format("{}: tensor {} has dtype {}; a voice holds F32, F16, BF16, I32 or I64", path,
                                           name, voice::dtype_name(view.dtype)));
    }
    tensors_.emplace_back(names_.emplace_back(name).c_str(), dtype, view.bytes, view.shape);
  }
}

}  // namespace timbre::tools
