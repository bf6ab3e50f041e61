// SPDX-License-Identifier: MIT
#include "vits/spline.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace timbre::vits {
namespace {

constexpr double kMinBin = 1e-3;
constexpr double kMinDerivative = 1e-3;

/// Knots of one axis from raw bin sizes: softmax, floor, running sum scaled to [-tail, tail].
void knots(const SplineShape& shape, std::span<const float> raw, std::vector<double>& out) {
  const auto bins = raw.size();
  double largest = raw[0];
  for (const float value : raw) largest = std::max(largest, static_cast<double>(value));
  double sum = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    out[i + 1] = std::exp((raw[i] - largest) / shape.scale);
    sum += out[i + 1];
  }
  double at = 0;
  out[0] = -shape.tail;
  for (std::size_t i = 0; i < bins; ++i) {
    at += kMinBin + (1 - kMinBin * static_cast<double>(bins)) * out[i + 1] / sum;
    out[i + 1] = 2 * shape.tail * at - shape.tail;
  }
  out[bins] = shape.tail;
}

double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

}  // namespace

Result<void> invert_spline(const SplineShape& shape, std::span<const float> parameters, std::span<float> values) {
  const auto bins = static_cast<std::size_t>(shape.bins);
  const std::size_t stride = 3 * bins - 1;
  std::vector<double> x(bins + 1);
  std::vector<double> y(bins + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    const auto raw = parameters.subspan(i * stride, stride);
    const bool finite =
        std::isfinite(value) && std::all_of(raw.begin(), raw.end(), [](float v) { return std::isfinite(v); });
    if (!finite) {
      return Error{Status::kFormat,
                   "the duration predictor gave a number that is not finite at id " + std::to_string(i)};
    }
    if (value < -shape.tail || value > shape.tail) continue;
    knots(shape, raw.subspan(0, bins), x);
    knots(shape, raw.subspan(bins, bins), y);
    const auto above = std::upper_bound(y.begin() + 1, y.end() - 1, value);  // the last knot belongs to its bin
    const auto bin = static_cast<std::size_t>(above - y.begin()) - 1;
    auto derivative = [&](std::size_t knot) {  // 1 at both ends, to meet the linear tails
      return knot == 0 || knot == bins ? 1.0 : kMinDerivative + softplus(raw[2 * bins + knot - 1]);
    };
    const double width = x[bin + 1] - x[bin];
    const double height = y[bin + 1] - y[bin];
    const double slope = height / width;
    const double left = derivative(bin);
    const double bend = left + derivative(bin + 1) - 2 * slope;
    const double offset = value - y[bin];
    const double a = offset * bend + height * (slope - left);
    const double b = height * left - offset * bend;
    const double c = -slope * offset;
    const double root = 2 * c / (-b - std::sqrt(std::max(0.0, b * b - 4 * a * c)));
    values[i] = static_cast<float>(root * width + x[bin]);
  }
  return {};
}

}  // namespace timbre::vits
