// SPDX-License-Identifier: MIT
#include "vits/model_patch.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace timbre::vits {
namespace {

/// Tensors that live as long as the object.
struct Owner {
  TensorSet set;

  Owner& add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    auto owner = std::make_shared<const std::vector<float>>(std::move(values));
    set.tensors.insert_or_assign(
        name, voice::TensorView{voice::DType::kF32, std::move(shape), std::as_bytes(std::span(*owner))});
    set.owners.push_back(owner);
    return *this;
  }
};

std::vector<float> row_of(const TensorSet& set, const std::string& layer, const std::vector<float>& g) {
  const auto weight = voice::to_floats(*set.find(layer + ".weight"));
  auto out = voice::to_floats(*set.find(layer + ".bias"));
  for (std::size_t c = 0; c < out.size(); ++c) {
    for (std::size_t k = 0; k < g.size(); ++k) out[c] += weight[c * g.size() + k] * g[k];
  }
  return out;
}

}  // namespace

TEST_CASE("a table becomes the layer that gives its rows, with the least weight", "[vits][patch]") {
  Owner base;
  base.add("dec.conv_pre.weight", {1, 1, 1}, {1});
  Owner patch;
  patch.add("emb_g.weight", {3, 4}, {1, 0, 0, 2, 0, 1, 0, 2, 0, 0, 1, 2});
  patch.add("table.dec.cond", {3, 2}, {1, 2, 3, 4, -5, 6});
  REQUIRE(apply_patch(base.set, patch.set, "p").ok());
  const std::vector<std::vector<float>> voices{{1, 0, 0, 2}, {0, 1, 0, 2}, {0, 0, 1, 2}};
  const std::vector<std::vector<float>> rows{{1, 2}, {3, 4}, {-5, 6}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto got = row_of(base.set, "dec.cond", voices[i]);
    for (std::size_t c = 0; c < 2; ++c) CHECK(got[c] == Approx(rows[i][c]).margin(1e-5));
  }
  // What all voices share, the least-norm layer leaves to the bias.
  const auto weight = voice::to_floats(*base.set.find("dec.cond.weight"));
  CHECK(weight[3] == Approx(0).margin(1e-6));
  CHECK(weight[0] + weight[1] + weight[2] == Approx(0).margin(1e-6));
}

TEST_CASE("a patch replaces a weight in whatever form the base has it", "[vits][patch]") {
  Owner base;
  base.add("dec.ups.0.weight_g", {2, 1, 1}, {1, 1}).add("dec.ups.0.weight_v", {2, 1, 1}, {1, 1});
  Owner patch;
  patch.add("dec.ups.0.weight", {2, 1, 1}, {5, 6});
  REQUIRE(apply_patch(base.set, patch.set, "p").ok());
  CHECK(base.set.tensors.size() == 1);
  CHECK(voice::to_floats(*base.set.find("dec.ups.0.weight")) == std::vector<float>{5, 6});
}

TEST_CASE("a patch that does not fit is refused by name", "[vits][patch]") {
  auto refused = [](Owner patch) {
    Owner base;
    base.add("dec.conv_pre.bias", {2}, {1, 2});
    auto result = apply_patch(base.set, patch.set, "p.safetensors");
    REQUIRE_FALSE(result.ok());
    CAPTURE(result.error().message);
    CHECK(result.error().message.find("p.safetensors") != std::string::npos);
    return result.error().status;
  };
  CHECK(refused(Owner().add("dec.conv_pre.bias", {3}, {1, 2, 3})) == Status::kMismatch);
  CHECK(refused(Owner().add("who.knows", {1}, {1})) == Status::kMismatch);
  CHECK(refused(Owner().add("table.dec.cond", {1, 1}, {1})) == Status::kFormat);
  CHECK(refused(Owner().add("emb_g.weight", {2, 1}, {1, 1}).add("table.dec.cond", {2, 1}, {1, 2})) == Status::kFormat);
  CHECK(refused(Owner().add("emb_g.weight", {2, 1}, {1, 2}).add("table.dec.cond", {3, 1}, {1, 2, 3})) ==
        Status::kFormat);
  CHECK(refused(Owner().add("emb_g.weight", {2, 1}, {1, 2}).add("table.enc_p.emb", {2, 1}, {1, 2})) == Status::kFormat);
}

}  // namespace timbre::vits
