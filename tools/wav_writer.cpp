// SPDX-License-Identifier: MIT
#include "wav_writer.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace timbre::tools {
namespace {

constexpr std::uint32_t kUnknownSize = 0xFFFFFFFF;
constexpr std::uint32_t kHeaderBytes = 44;
constexpr std::uint32_t kSampleBytes = 2;

void put(unsigned char* at, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) at[i] = static_cast<unsigned char>(value >> (8 * i));
}

}  // namespace

WavWriter::WavWriter(const std::optional<std::string>& path, std::uint32_t sample_rate_hz, bool raw)
    : name_(path.value_or("standard output")), raw_(raw), sample_rate_hz_(sample_rate_hz) {
  file_ = path ? std::fopen(path->c_str(), "wb") : stdout;
  if (file_ == nullptr) fail("cannot be written");
  struct stat status {};
  if (path && ::fstat(::fileno(file_), &status) == 0 && S_ISREG(status.st_mode)) unfinished_.emplace(name_);
  if (!raw_) write_header(kUnknownSize);
}

WavWriter::~WavWriter() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void WavWriter::write(std::span<const float> samples) {
  buffer_.resize(samples.size() * kSampleBytes);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const long value = std::lround(std::clamp(samples[i], -1.0F, 1.0F) * 32767.0F);
    put(&buffer_[i * kSampleBytes], static_cast<std::uint32_t>(value), kSampleBytes);
  }
  write_bytes(buffer_.data(), buffer_.size());
  data_bytes_ += buffer_.size();
  if (std::fflush(file_) != 0) fail("cannot be written");
}

void WavWriter::finish() {
  if (unfinished_ && !raw_) {
    if (std::fseek(file_, 0, SEEK_SET) != 0) fail("cannot be completed");
    const bool fits = data_bytes_ < kUnknownSize - kHeaderBytes;
    write_header(fits ? static_cast<std::uint32_t>(data_bytes_) : kUnknownSize);
  }
  if (std::fflush(file_) != 0) fail("cannot be written");
  std::FILE* file = file_;
  file_ = nullptr;
  if (file != stdout && std::fclose(file) != 0) fail("cannot be closed");
  if (unfinished_) unfinished_->finish();
}

void WavWriter::write_header(std::uint32_t data_bytes) {
  std::array<unsigned char, kHeaderBytes> header{};
  std::memcpy(&header[0], "RIFF", 4);
  put(&header[4], data_bytes == kUnknownSize ? kUnknownSize : data_bytes + kHeaderBytes - 8, 4);
  std::memcpy(&header[8], "WAVEfmt ", 8);
  put(&header[16], 16, 4);                              // size of this chunk
  put(&header[20], 1, 2);                               // PCM
  put(&header[22], 1, 2);                               // channels
  put(&header[24], sample_rate_hz_, 4);                 // frames per second
  put(&header[28], sample_rate_hz_ * kSampleBytes, 4);  // bytes per second
  put(&header[32], kSampleBytes, 2);                    // bytes per frame
  put(&header[34], 8 * kSampleBytes, 2);                // bits per sample
  std::memcpy(&header[36], "data", 4);
  put(&header[40], data_bytes, 4);
  write_bytes(header.data(), header.size());
}

void WavWriter::write_bytes(const void* bytes, std::size_t size) {
  if (size > 0 && std::fwrite(bytes, 1, size, file_) != size) fail("cannot be written");
}

void WavWriter::fail(const char* what) { throw std::runtime_error(name_ + " " + what + ": " + std::strerror(errno)); }

}  // namespace timbre::tools
