// SPDX-License-Identifier: MIT
#include "vits/model_patch.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <array>
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

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix to_matrix(const voice::TensorView& view) {
  const std::vector<float> values = voice::to_floats(view);
  using Floats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Floats>(values.data(), view.shape[0], view.shape[1]).cast<double>();
}

/// Puts a float tensor of its own into the set.
void put(TensorSet& set, const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  auto owner = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(owner->data(), values.data(), owner->size());
  set.tensors.insert_or_assign(name, voice::TensorView{voice::DType::kF32, std::move(shape), *owner});
  set.owners.push_back(std::move(owner));
}

/// Rows 1.. minus row 0.
Matrix differences(const Matrix& all) { return all.bottomRows(all.rows() - 1).rowwise() - all.row(0); }

/// The layer w e + b that gives row k of `table` for row k of `embedding`, with the least w. False when the rows of
/// `embedding` do not tell the voices apart.
bool put_table(TensorSet& set, const std::string& layer, const Matrix& table, const Matrix& embedding) {
  Matrix w = Matrix::Zero(table.cols(), embedding.cols());
  if (embedding.rows() > 1) {
    const Eigen::CompleteOrthogonalDecomposition<Matrix> rows(differences(embedding));
    if (rows.rank() < embedding.rows() - 1) return false;
    w = rows.solve(differences(table)).transpose();
  }
  const Eigen::VectorXd b = table.row(0).transpose() - w * embedding.row(0).transpose();
  std::vector<float> weight(static_cast<std::size_t>(w.size()));
  std::vector<float> bias(static_cast<std::size_t>(b.size()));
  std::transform(w.data(), w.data() + w.size(), weight.begin(), [](double x) { return static_cast<float>(x); });
  std::transform(b.data(), b.data() + b.size(), bias.begin(), [](double x) { return static_cast<float>(x); });
  const std::int64_t channels = w.rows();
  put(set, layer + ".weight", {channels, w.cols(), 1}, weight);
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
  if (embedding == nullptr || embedding->shape.size() != 2 || embedding->shape[1] < 1)
    return fail("there is no emb_g.weight to solve it for");
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
