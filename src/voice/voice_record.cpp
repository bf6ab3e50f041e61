// SPDX-License-Identifier: MIT
#include "voice/voice_record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace timbre::voice {
namespace {

constexpr std::size_t kMaxRank = 4;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 32U;

Error invalid(std::string message) { return {Status::kInvalidArgument, std::move(message)}; }

bool is_kept(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kI32 ||
         dtype == DType::kI64;
}

Result<void> check_tensor(const Tensor& tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes) {
    return invalid(fmt::format("a tensor's name has {} bytes, expected 1..{}", tensor.name.size(), kMaxNameBytes));
  }
  if (!is_kept(tensor.dtype)) {
    return invalid(fmt::format("tensor '{}': {} is not kept, only F32, F16, BF16, I32 and I64", tensor.name,
                               dtype_name(tensor.dtype)));
  }
  if (tensor.shape.size() > kMaxRank) {
    return invalid(fmt::format("tensor '{}': rank {} is above {}", tensor.name, tensor.shape.size(), kMaxRank));
  }
  const std::optional<std::uint64_t> count = element_count(tensor.shape);
  if (!count || *count == 0 || *count > kMaxElements) {
    return invalid(fmt::format("tensor '{}': impossible shape {}", tensor.name, shape_text(tensor.shape)));
  }
  if (const std::uint64_t expected = *count * dtype_bytes(tensor.dtype); tensor.data.size() != expected) {
    return invalid(fmt::format("tensor '{}': shape {} needs {} bytes, found {}", tensor.name, shape_text(tensor.shape),
                               expected, tensor.data.size()));
  }
  if (!tensor.is_floating()) return {};
  const std::vector<float> values = to_floats(tensor.view());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return invalid(fmt::format("tensor '{}': element {} is not finite", tensor.name, i));
    }
  }
  return {};
}

bool is_fingerprint(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> check_scale(std::string_view name, const std::optional<float>& scale, bool zero_allowed) {
  if (!scale) return {};
  if (!std::isfinite(*scale) || *scale < 0 || (*scale == 0 && !zero_allowed)) {
    return invalid(fmt::format("{} is {}, expected a finite value {}", name, *scale, zero_allowed ? ">= 0" : "> 0"));
  }
  return {};
}

}  // namespace

const Tensor* VoiceRecord::find(std::string_view name) const {
  for (const Tensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<void> check(const VoiceRecord& record) {
  std::set<std::string_view> names;
  for (const Tensor& tensor : record.tensors) {
    if (Result<void> checked = check_tensor(tensor); !checked) return checked;
    if (!names.insert(tensor.name).second) return invalid(fmt::format("two tensors are named '{}'", tensor.name));
  }
  if (record.tensors.empty() && record.model_fingerprint.empty()) {
    return invalid("the record has no tensors and names no model");
  }
  if (!record.model_fingerprint.empty() && !is_fingerprint(record.model_fingerprint)) {
    return invalid(fmt::format("'{}' is no fingerprint of 32 lower-case hex digits", record.model_fingerprint));
  }
  if (record.speaker && *record.speaker < 0) {
    return invalid(fmt::format("speaker {} is negative", *record.speaker));
  }
  if (record.speaker && record.find("g") != nullptr) {
    return invalid("the record has both a speaker index and a tensor 'g'");
  }
  return check(record.scales);
}

Result<void> check(const Scales& scales) {
  if (Result<void> checked = check_scale("noise_scale", scales.noise, true); !checked) return checked;
  if (Result<void> checked = check_scale("length_scale", scales.length, false); !checked) return checked;
  return check_scale("noise_w", scales.noise_w, true);
}

}  // namespace timbre::voice
