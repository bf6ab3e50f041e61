// SPDX-License-Identifier: MIT
//
// Signal: the input of a convolution that arrives in pieces.
//
// Rows have positions from 0 to the sentence's length. What has arrived are the rows before `end()`; the frontier of
// what can be computed follows from it: a row needs `right` rows after it, unless the sentence ends there. Before
// position 0 and from the length on, the rows are zero: the padding of the whole sentence, seen from its inside.
//
// Invariants
//   * The rows kept between two steps are those that later output rows still read, and no others.
//   * Which rows come together in one step changes no number: every output row reads the same input rows.
#pragma once

#include <cstdint>

#include "vits/conv.hpp"

namespace timbre::vits {

/// Thread safety: a value of one sentence.
class Signal {
 public:
  /// Rows of one step: those kept, the new ones, and zero rows behind them.
  struct Window {
    at::Tensor rows;         ///< [count, channels]
    std::int64_t begin = 0;  ///< position of rows[0]

    /// Rows from position `from` on, as many as there are.
    [[nodiscard]] at::Tensor from(std::int64_t position) const { return rows.slice(0, position - begin); }
    [[nodiscard]] at::Tensor range(std::int64_t first, std::int64_t last) const {
      return rows.slice(0, first - begin, last - begin);
    }
  };

  Signal() = default;
  /// @param left    zero rows before position 0.
  /// @param length  rows of the sentence.
  Signal(std::int64_t channels, std::int64_t left, std::int64_t length);

  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] bool is_complete() const { return end_ == length_; }
  /// The output rows of a convolution with this `right` end here.
  [[nodiscard]] std::int64_t frontier(std::int64_t right) const { return is_complete() ? length_ : end_ - right; }

  /// Takes the next `count` rows of `fresh` in. @return all rows at hand and `slack` zero rows behind them.
  [[nodiscard]] Window extend(const at::Tensor& fresh, std::int64_t count, std::int64_t slack);
  /// Keeps the rows of the window from `position` on for the next step.
  void keep(const Window& window, std::int64_t position);

 private:
  at::Tensor kept_;  // [kept, channels], from position begin_ on
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t length_ = 0;
};

}  // namespace timbre::vits
