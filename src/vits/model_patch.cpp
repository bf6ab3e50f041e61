// SPDX-License-Identifier: MIT
#include "vits/model_patch.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace timbre::vits {
namespace {

constexpr std::string_view kTable = "table.";
constexpr std::array<std::string_view, 5> kWeightForms{
    ".weight", ".weight_g", ".weight_v", ".parametrizations.weight.original0", ".parametrizations.weight.original1"};
constexpr std::int64_t kMaxTableVoices = 4096;

/// A matrix of doubles in C order.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  double& operator()(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  double operator()(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};

Matrix to_matrix(const voice::TensorView& view) {
  Matrix out(static_cast<std::size_t>(view.shape[0]), static_cast<std::size_t>(view.shape[1]));
  const std::vector<float> values = voice::to_floats(view);
  for (std::size_t i = 0; i < out.values.size() && i < values.size(); ++i) out.values[i] = values[i];
  return out;
}

/// Solves a x = b for symmetric positive definite a by Gaussian elimination with pivoting; b becomes x. False if a is
/// singular.
bool solve(Matrix a, Matrix& b) {
  const std::size_t n = a.rows;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row) {
      if (std::abs(a(row, column)) > std::abs(a(pivot, column))) pivot = row;
    }
    if (!(std::abs(a(pivot, column)) > 1e-12)) return false;
    for (std::size_t k = 0; k < n; ++k) std::swap(a(column, k), a(pivot, k));
    for (std::size_t k = 0; k < b.columns; ++k) std::swap(b(column, k), b(pivot, k));
    for (std::size_t row = 0; row < n; ++row) {
      const double factor = row == column ? 0 : a(row, column) / a(column, column);
      if (factor == 0) continue;
      for (std::size_t k = column; k < n; ++k) a(row, k) -= factor * a(column, k);
      for (std::size_t k = 0; k < b.columns; ++k) b(row, k) -= factor * b(column, k);
    }
  }
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t k = 0; k < b.columns; ++k) b(row, k) /= a(row, row);
  }
  return true;
}

/// Puts a float tensor of its own into the set.
void put(TensorSet& set, const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  auto owner = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(owner->data(), values.data(), owner->size());
  set.tensors.insert_or_assign(name, voice::TensorView{voice::DType::kF32, std::move(shape), *owner});
  set.owners.push_back(std::move(owner));
}

/// Rows 1.. minus row 0.
Matrix differences(const Matrix& all) {
  Matrix out(all.rows - 1, all.columns);
  for (std::size_t r = 0; r < out.rows; ++r) {
    for (std::size_t c = 0; c < out.columns; ++c) out(r, c) = all(r + 1, c) - all(0, c);
  }
  return out;
}

/// The layer w e + b that gives row k of `table` for row k of `embedding`, with the least w.
bool put_table(TensorSet& set, const std::string& layer, const Matrix& table, const Matrix& embedding) {
  const Matrix d = differences(embedding);
  const Matrix t = differences(table);
  Matrix gram(d.rows, d.rows);
  for (std::size_t r = 0; r < d.rows; ++r) {
    for (std::size_t c = 0; c < d.rows; ++c) {
      for (std::size_t k = 0; k < d.columns; ++k) gram(r, c) += d(r, k) * d(c, k);
    }
  }
  Matrix s = d;
  if (!solve(std::move(gram), s)) return false;
  std::vector<float> weight(table.columns * d.columns);
  std::vector<float> bias(table.columns);
  for (std::size_t channel = 0; channel < table.columns; ++channel) {
    double at_first = table(0, channel);
    for (std::size_t k = 0; k < d.columns; ++k) {
      double w = 0;
      for (std::size_t r = 0; r < d.rows; ++r) w += t(r, channel) * s(r, k);
      weight[channel * d.columns + k] = static_cast<float>(w);
      at_first -= w * embedding(0, k);
    }
    bias[channel] = static_cast<float>(at_first);
  }
  const auto channels = static_cast<std::int64_t>(table.columns);
  put(set, layer + ".weight", {channels, static_cast<std::int64_t>(d.columns), 1}, weight);
  put(set, layer + ".bias", {channels}, bias);
  return true;
}

/// "dec.ups.0" of "dec.ups.0.weight_v"; empty when the name is no form of a weight.
std::string weight_layer(std::string_view name) {
  for (const std::string_view form : kWeightForms) {
    if (name.ends_with(form)) return std::string(name.substr(0, name.size() - form.size()));
  }
  return {};
}

void drop_weight(TensorSet& set, const std::string& layer) {
  for (const std::string_view form : kWeightForms) set.tensors.erase(layer + std::string(form));
}

bool is_speaker_layer(std::string_view name) {
  return name == "emb_g.weight" || name.starts_with("dec.cond.") || name.starts_with("dp.cond.") ||
         (name.starts_with("flow.flows.") && name.find(".enc.cond_layer.") != std::string_view::npos);
}

/// Whether the base has this tensor, or the same weight in another form, or may get it as a speaker layer.
Result<void> check_fit(const TensorSet& base, const std::string& name, const voice::TensorView& view,
                       std::string_view where) {
  if (is_speaker_layer(name)) return {};
  const voice::TensorView* old = base.find(name);
  const std::string layer = weight_layer(name);
  if (old == nullptr && !layer.empty()) {
    for (const std::string_view form : kWeightForms) {
      if (base.contains(layer + std::string(form))) return {};  // its shape is checked when the weights are built
    }
  }
  if (old == nullptr) {
    return Error{Status::kMismatch, std::string(where) + ": the base model has no tensor \"" + name + "\""};
  }
  if (old->shape != view.shape) {
    return Error{Status::kMismatch, std::string(where) + ": tensor \"" + name + "\" is " +
                                        voice::shape_text(view.shape) + ", in the base model " +
                                        voice::shape_text(old->shape)};
  }
  return {};
}

Result<void> apply_table(TensorSet& base, const std::string& name, const voice::TensorView& view,
                         std::string_view where) {
  const std::string layer = name.substr(kTable.size());
  const voice::TensorView* embedding = base.find("emb_g.weight");
  auto fail = [&](const std::string& text) {
    return Error{Status::kFormat, std::string(where) + ": tensor \"" + name + "\": " + text};
  };
  if (!is_speaker_layer(layer + ".weight")) return fail("it is no speaker layer");
  if (embedding == nullptr || embedding->shape.size() != 2) return fail("there is no emb_g.weight to solve it for");
  if (view.shape.size() != 2 || view.shape[0] != embedding->shape[0] || view.shape[0] < 1 || view.shape[1] < 1 ||
      view.shape[0] > kMaxTableVoices) {
    return fail("its shape " + voice::shape_text(view.shape) + " does not suit emb_g.weight " +
                voice::shape_text(embedding->shape));
  }
  if (!put_table(base, layer, to_matrix(view), to_matrix(*embedding))) {
    return fail("the rows of emb_g.weight do not determine the layer");
  }
  return {};
}

}  // namespace

Result<void> apply_patch(TensorSet& base, const TensorSet& patch, std::string_view where) {
  for (const auto& [name, view] : patch.tensors) {
    if (name.starts_with(kTable)) continue;
    if (auto fits = check_fit(base, name, view, where); !fits) return fits.error();
  }
  for (const auto& [name, view] : patch.tensors) {
    if (const std::string layer = weight_layer(name); !layer.empty()) drop_weight(base, layer);
  }
  for (const auto& [name, view] : patch.tensors) {
    if (!name.starts_with(kTable)) base.tensors.insert_or_assign(name, view);
  }
  for (const auto& [name, view] : patch.tensors) {
    if (!name.starts_with(kTable)) continue;
    drop_weight(base, name.substr(kTable.size()));
    if (auto applied = apply_table(base, name, view, where); !applied) return applied.error();
  }
  return {};
}

Result<std::vector<std::string>> patch_voices(const voice::Safetensors& patch, std::string_view where) {
  const auto found = patch.metadata.find("voices");
  if (found == patch.metadata.end()) return std::vector<std::string>{};
  const nlohmann::json list = nlohmann::json::parse(found->second, nullptr, false);
  std::vector<std::string> names;
  const Error wrong{Status::kFormat, std::string(where) + ": metadata \"voices\" is not a JSON list of names"};
  if (!list.is_array()) return wrong;
  for (const nlohmann::json& each : list) {
    if (!each.is_string()) return wrong;
    names.push_back(each.get<std::string>());
  }
  return names;
}

}  // namespace timbre::vits
