// SPDX-License-Identifier: MIT
#include "vits/conv.hpp"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mkldnn_reorder_conv2d_weight.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace timbre::vits {
namespace {

/// A convolution with packed weights, as LibTorch's own compiler calls it: part of no promised interface, so its
/// absence or another signature only means that plain convolutions are used.
class PackedOperator {
 public:
  using Scalars = c10::List<std::optional<at::Scalar>>;
  using Run = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, at::IntArrayRef,
                         at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view, Scalars,
                         std::optional<std::string_view>);
  using Number = std::int64_t(const at::Tensor&);

  static const PackedOperator& only() {
    static const PackedOperator found;
    return found;
  }

  explicit operator bool() const { return run_ && address_ && bytes_; }

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                      std::int64_t dilation, std::int64_t groups) const {
    const std::optional<at::Tensor> maybe_bias = bias.defined() ? std::optional(bias) : std::nullopt;
    return run_->call(x, weight, maybe_bias, {0, 0}, {1, 1}, {1, dilation}, groups, "none", Scalars(), std::nullopt);
  }

  /// Whether the same weights were packed to the same bytes. (Their descriptions differ in bytes that mean nothing.)
  [[nodiscard]] bool are_same(const at::Tensor& a, const at::Tensor& b) const {
    const std::int64_t bytes = bytes_->call(a);
    return bytes == bytes_->call(b) &&
           std::memcmp(reinterpret_cast<const void*>(address_->call(a)),
                       reinterpret_cast<const void*>(address_->call(b)), static_cast<std::size_t>(bytes)) == 0;
  }

 private:
  PackedOperator() {
    try {
      const auto run = c10::Dispatcher::singleton().findSchema({"mkldnn::_convolution_pointwise", ""});
      const auto address = c10::Dispatcher::singleton().findSchema({"mkldnn::data_ptr", ""});
      const auto bytes = c10::Dispatcher::singleton().findSchema({"mkldnn::_nbytes", ""});
      if (run) run_ = run->typed<Run>();
      if (address) address_ = address->typed<Number>();
      if (bytes) bytes_ = bytes->typed<Number>();
    } catch (const c10::Error&) {
      run_.reset();
    }
  }

  std::optional<c10::TypedOperatorHandle<Run>> run_;
  std::optional<c10::TypedOperatorHandle<Number>> address_;
  std::optional<c10::TypedOperatorHandle<Number>> bytes_;
};

/// Rows [rows, channels] as the picture [1, channels, 1, rows] in channels_last order, and back; no copy.
at::Tensor picture(const at::Tensor& rows) {
  return rows.view({1, 1, rows.size(0), rows.size(1)}).permute({0, 3, 1, 2});
}
at::Tensor rows_of(const at::Tensor& picture) {
  return picture.permute({0, 2, 3, 1}).reshape({picture.size(3), picture.size(1)});
}

}  // namespace

Conv::Conv(const at::Tensor& weight, at::Tensor bias, Shape shape)
    : bias_(std::move(bias)),
      shape_(shape),
      in_(weight.size(1) * shape.groups),
      out_(weight.size(0)),
      reach_((weight.size(2) - 1) * shape.dilation) {
  const at::Tensor plain = weight.unsqueeze(2);
  packed_ = static_cast<bool>(PackedOperator::only());
  if (packed_) {
    pack(plain);
  } else {
    weights_.fill(plain.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

void Conv::pack(const at::Tensor& plain) {
  const at::Tensor opaque = plain.contiguous().to_mkldnn();
  for (std::size_t i = 0; i < kBlocks.size(); ++i) {
    const std::array<std::int64_t, 4> input{1, in_, 1, kBlocks[i] * shape_.granule + reach_};
    weights_[i] = at::mkldnn_reorder_conv2d_weight(opaque, {0, 0}, {1, 1}, {1, shape_.dilation}, shape_.groups,
                                                   at::OptionalIntArrayRef(at::IntArrayRef(input)));
    for (std::size_t j = 0; j < i; ++j) {
      if (PackedOperator::only().are_same(weights_[i], weights_[j])) weights_[i] = weights_[j];
    }
  }
}

at::Tensor Conv::operator()(const at::Tensor& x, std::int64_t rows) const {
  if (rows == 0) return at::empty({0, out_}, float_options());
  std::vector<at::Tensor> parts;
  for (std::int64_t at = 0; at < rows;) {
    std::size_t block = 0;
    while (kBlocks[block] * shape_.granule > round_up(rows - at, shape_.granule)) ++block;
    parts.push_back(run(block, x, at));
    at += kBlocks[block] * shape_.granule;
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts, 0);
}

/// Output rows of one block, from row `first` on.
at::Tensor Conv::run(std::size_t block, const at::Tensor& x, std::int64_t first) const {
  const at::Tensor input = picture(x.slice(0, first, first + kBlocks[block] * shape_.granule + reach_));
  const at::Tensor& weight = weights_[block];
  if (packed_) return rows_of(PackedOperator::only()(input, weight, bias_, shape_.dilation, shape_.groups));
  const std::array<std::int64_t, 2> stride{1, 1};
  const std::array<std::int64_t, 2> padding{0, 0};
  const std::array<std::int64_t, 2> dilation{1, shape_.dilation};
  return rows_of(at::conv2d(input, weight, bias_, at::IntArrayRef(stride), at::IntArrayRef(padding),
                            at::IntArrayRef(dilation), shape_.groups));
}

at::Tensor Conv::padded(const at::Tensor& x, std::int64_t rows) const {
  if (reach_ == 0) return (*this)(x, rows);
  const at::Tensor around = at::zeros({left() + round_up(rows, shape_.granule) + right(), in_}, x.options());
  around.slice(0, left(), left() + rows).copy_(x.slice(0, 0, rows));
  return (*this)(around, rows);
}

void Conv::warm_up() const {
  const at::Tensor x = at::zeros({kBlocks.front() * shape_.granule + reach_, in_}, float_options());
  for (std::size_t block = 0; block < kBlocks.size(); ++block) static_cast<void>(run(block, x, 0));
}

}  // namespace timbre::vits
