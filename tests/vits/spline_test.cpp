// SPDX-License-Identifier: MIT
#include "vits/spline.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace timbre::vits {

TEST_CASE("outside its tails a spline is the identity, none inside included", "[vits][spline]") {
  std::vector<float> values{-5.5F, 6, 100, -1e30F};
  const std::vector<float> before = values;
  const std::vector<float> parameters(values.size() * 29, 0.3F);
  REQUIRE(invert_spline({}, parameters, values).ok());
  CHECK(values == before);
  REQUIRE(invert_spline({}, {}, {}).ok());
}

TEST_CASE("a spline of equal bins and slopes is the identity", "[vits][spline]") {
  // softplus(x) = 1 - 1e-3 makes every inner derivative 1, as both ends have it.
  const auto derivative = static_cast<float>(std::log(std::expm1(1 - 1e-3)));
  std::vector<float> values{-5, -4.99F, -1, 0, 0.3F, 2, 4.999F, 5};
  const std::vector<float> before = values;
  std::vector<float> parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parameters.insert(parameters.end(), 20, 0.0F);
    parameters.insert(parameters.end(), 9, derivative);
  }
  REQUIRE(invert_spline({}, parameters, values).ok());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == Approx(before[i]).margin(1e-5));
}

TEST_CASE("numbers that are not finite are an error, not a bin", "[vits][spline]") {
  std::vector<float> parameters(29, 0.0F);
  std::vector<float> values{NAN};
  CHECK_FALSE(invert_spline({}, parameters, values).ok());
  values[0] = 0;
  parameters[7] = INFINITY;
  CHECK_FALSE(invert_spline({}, parameters, values).ok());
}

}  // namespace timbre::vits
