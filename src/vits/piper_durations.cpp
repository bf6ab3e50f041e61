// SPDX-License-Identifier: MIT
//
// The duration predictor of a PiperWalk.
#include "vits/piper_walk.hpp"

namespace timbre::vits {

/// Dilated depth-separable convolutions; the last norm of them, or `from` if there are none.
std::size_t PiperWalk::read_dds(std::size_t from, const std::string& name) {
  std::size_t last = from;
  for (std::size_t i = 0; i < kMaxRepeats && !failed(); ++i) {
    const std::string index = dotted(i);
    const std::size_t separate = find(last, is_depthwise);
    if (separate == kNoLayer) break;
    const std::size_t norm_1 = next(separate, is_norm, name + ".norms_1" + index);
    const std::size_t mix = next(norm_1, is_pointwise, name + ".convs_1x1" + index);
    const std::size_t norm_2 = next(mix, is_norm, name + ".norms_2" + index);
    keep(separate, name + ".convs_sep" + index);
    keep(norm_1, name + ".norms_1" + index);
    keep(mix, name + ".convs_1x1" + index);
    keep(norm_2, name + ".norms_2" + index);
    out_.config.duration_kernel = at(separate).kernel();
    out_.config.dds_layers = static_cast<std::int64_t>(i) + 1;
    last = norm_2;
  }
  return last;
}

void PiperWalk::read_durations() {
  VitsConfig& config = out_.config;
  config.duration_channels = at(duration_pre_).out_channels();
  if (speakers_ != kNoLayer && !failed()) read_condition(find(duration_pre_, is_depthwise), "dp.cond");
  const std::size_t proj = next(read_dds(duration_pre_, "dp.convs"), is_pointwise, "dp.proj");
  keep(proj, "dp.proj");
  std::vector<std::size_t> pres;
  std::size_t pre = kNoLayer;
  for (const std::size_t up : at(find(proj, is_depthwise)).ups) {
    if (up != proj) pre = up;
  }
  if (pre == kNoLayer) fault("no layer in the graph has the place of the first flow of dp");
  const std::int64_t half = at(pre).in_channels();
  std::vector<std::pair<std::size_t, std::size_t>> flows;
  // Names count from the end of inference: the flow that runs first has the highest number, and flow 1 never runs.
  std::size_t count = 0;
  for (std::size_t p = pre; p != kNoLayer && count < kMaxRepeats && !failed(); ++count) {
    const std::string name = "dp.flow#" + std::to_string(count);
    used_[p] = true;
    const std::size_t last = read_dds(p, name + ".convs");
    keep(p, name + ".pre");
    const std::size_t flow_proj = next(last, is_pointwise, name + ".proj");
    keep(flow_proj, name + ".proj");
    config.spline_bins = half > 0 ? (at(flow_proj).out_channels() / half + 1) / 3 : 0;
    p = find(flow_proj, [&](const Layer& layer) { return is_pointwise(layer) && layer.in_channels() == half; });
  }
  config.duration_flows = static_cast<std::int64_t>(count);
  auto& tensors = out_.tensors.tensors;
  for (std::size_t i = 0; i < count && !failed(); ++i) {
    const std::string old = "dp.flow#" + std::to_string(i) + ".";
    const std::string name = "dp.flows." + std::to_string(2 * (count - i) + 1) + ".";
    for (auto found = tensors.lower_bound(old); found != tensors.end() && found->first.starts_with(old);) {
      auto entry = tensors.extract(found++);
      entry.key() = name + entry.key().substr(old.size());
      tensors.insert(std::move(entry));
    }
  }
}

/// The affine flow before exp() and ceil(): (z - m) * exp(-logs), with exp or the sign folded by some exporters.
void PiperWalk::read_affine() {
  if (failed()) return;
  const OnnxNode* ceil = nullptr;
  for (const OnnxNode& node : graph_.graph().nodes) {
    if (node.op != "Ceil") continue;
    if (ceil != nullptr) return fault("the graph rounds durations in two places");
    ceil = &node;
  }
  if (ceil == nullptr || ceil->inputs.empty()) return fault("the graph rounds no durations (Ceil)");
  for (const OnnxNode* node : graph_.upstream(ceil->inputs[0]).nodes) {
    if (node->op != "Sub" || node->inputs.size() != 2 || node->outputs.empty()) continue;
    const voice::TensorView* m = graph_.constant(node->inputs[1]);
    if (m == nullptr || m->shape.size() != 2 || m->shape[1] != 1) continue;
    for (const OnnxNode* scale : graph_.consumers(node->outputs[0])) {
      if (scale->op != "Mul" || scale->inputs.size() != 2) continue;
      std::string_view value = scale->inputs[scale->inputs[0] == node->outputs[0] ? 1 : 0];
      const char* name = "dp.flows.0.exp_neg_logs";
      const OnnxNode* made = graph_.producer(value);
      if (made != nullptr && made->op == "Exp" && !made->inputs.empty()) {
        value = made->inputs[0];
        name = "dp.flows.0.neg_logs";
        made = graph_.producer(value);
        if (made != nullptr && made->op == "Neg" && !made->inputs.empty()) {
          value = made->inputs[0];
          name = "dp.flows.0.logs";
        }
      }
      if (graph_.constant(value) == nullptr) continue;
      keep_tensor(m, "dp.flows.0.m");
      return keep_tensor(graph_.constant(value), name);
    }
  }
  fault("no tensors in the graph have the place of dp.flows.0.m and dp.flows.0.logs");
}

}  // namespace timbre::vits
