// SPDX-License-Identifier: MIT
//
// Conv: a convolution over the rows of a signal, with weights packed once and a closed set of shapes.
//
// oneDNN compiles a kernel for each shape that it meets and keeps it for ever; a kernel costs milliseconds and memory.
// So rows are computed in blocks of granule x 1, 2, 4 or 8, whatever their number is, and warm-up can meet every shape.
//
// Invariants
//   * A signal is [rows, channels], dense. A convolution pads nothing: `rows + reach()` rows become `rows`.
//   * Equal input rows give equal output rows, bit for bit, in whichever call they are asked for, as long as the block
//     that they fall into is the same.
//   * Weights are held in oneDNN's own layout only, where LibTorch has the packed operators; else plainly. Blocks share
//     them where they want the same layout; where one wants another, weights in the wrong one would be laid out anew in
//     every call, which takes milliseconds.
#pragma once

#include <array>
#include <cstdint>

#include "vits/nn.hpp"

namespace timbre::vits {

/// The rows of a block, as multiples of the granule.
inline constexpr std::array<std::int64_t, 4> kBlocks{8, 4, 2, 1};

/// `rows` rounded up to whole granules.
[[nodiscard]] constexpr std::int64_t round_up(std::int64_t rows, std::int64_t granule) {
  return (rows + granule - 1) / granule * granule;
}

class Conv {
 public:
  struct Shape {
    std::int64_t dilation = 1;
    std::int64_t groups = 1;
    std::int64_t granule = 32;  ///< in output rows
  };

  /// No convolution.
  Conv() = default;
  /// @param weight  [out, in / groups, kernel]; bias  [out] or undefined.
  Conv(const at::Tensor& weight, at::Tensor bias, Shape shape);

  explicit operator bool() const { return out_ > 0; }
  [[nodiscard]] std::int64_t in_channels() const { return in_; }
  [[nodiscard]] std::int64_t out_channels() const { return out_; }
  [[nodiscard]] std::int64_t granule() const { return shape_.granule; }
  /// Rows that an output row reaches over, beside its own: (kernel - 1) x dilation. Of these `left()` come before it.
  [[nodiscard]] std::int64_t reach() const { return reach_; }
  [[nodiscard]] std::int64_t left() const { return reach_ / 2; }
  [[nodiscard]] std::int64_t right() const { return reach_ - left(); }

  /// Output rows [0, rows) of `x`, which has at least round_up(rows, granule) + reach() rows; the last ones may hold
  /// anything finite. @return [round_up(rows, granule), out], of which `rows` count.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, std::int64_t rows) const;

  /// The same with the sentence's own padding: `x` has round_up(rows, granule) rows, of which those from `rows` on
  /// count as zero.
  [[nodiscard]] at::Tensor padded(const at::Tensor& x, std::int64_t rows) const;

  /// Runs every block once, so that no later call compiles anything.
  void warm_up() const;

 private:
  void pack(const at::Tensor& plain);
  [[nodiscard]] at::Tensor run(std::size_t block, const at::Tensor& x, std::int64_t first) const;

  std::array<at::Tensor, kBlocks.size()> weights_;  // for each block: packed, or [out, in / groups, 1, kernel]
  at::Tensor bias_;
  Shape shape_;
  std::int64_t in_ = 0;
  std::int64_t out_ = 0;
  std::int64_t reach_ = 0;
  bool packed_ = false;
};

}  // namespace timbre::vits
