// SPDX-License-Identifier: MIT
//
// Flow and decoder of a PiperWalk.
#include <algorithm>
#include <cmath>
#include <set>

#include "vits/piper_walk.hpp"

namespace timbre::vits {

/// One mean-only residual coupling; its last convolution, "post".
std::size_t PiperWalk::read_coupling(std::size_t pre, const std::string& name) {
  VitsConfig& config = out_.config;
  const std::int64_t width = at(pre).out_channels();
  keep(pre, name + ".pre");
  std::size_t last = pre;
  for (std::size_t i = 0; i < kMaxRepeats && !failed(); ++i) {
    const std::string index = dotted(i);
    const std::size_t in = next(
        last,
        [&](const Layer& layer) {
          return is_conv(layer) && layer.in_channels() == width && layer.out_channels() == 2 * width;
        },
        name + ".enc.in_layers" + index);
    const std::size_t skip = next(
        in, [&](const Layer& layer) { return is_pointwise(layer) && layer.in_channels() == width; },
        name + ".enc.res_skip_layers" + index);
    if (i == 0) read_condition(skip, name + ".enc.cond_layer");
    if (i == 1) config.wavenet_dilation_rate = at(in).dilation;
    config.wavenet_kernel = at(in).kernel();
    config.wavenet_layers = static_cast<std::int64_t>(i) + 1;
    keep(in, name + ".enc.in_layers" + index);
    keep(skip, name + ".enc.res_skip_layers" + index);
    last = skip;
    if (at(skip).out_channels() == width) break;
  }
  const std::size_t post = next(
      last, [&](const Layer& layer) { return is_pointwise(layer) && layer.in_channels() == width; }, name + ".post");
  keep(post, name + ".post");
  return post;
}

void PiperWalk::read_flow() {
  VitsConfig& config = out_.config;
  auto is_pre = [&](const Layer& layer) { return is_pointwise(layer) && 2 * layer.in_channels() == config.latent; };
  std::size_t pre = next(projection_, is_pre, "the flow's first coupling");
  std::vector<std::size_t> order;
  std::size_t count = 0;
  for (std::size_t at_layer = pre; at_layer != kNoLayer && count < kMaxRepeats && !failed(); ++count) {
    latents_ = read_coupling(at_layer, "flow#" + std::to_string(count));
    at_layer = find(latents_, is_pre);
  }
  config.couplings = static_cast<std::int64_t>(count);
  auto& tensors = out_.tensors.tensors;
  for (std::size_t i = 0; i < count && !failed(); ++i) {
    const std::string old = "flow#" + std::to_string(i) + ".";
    const std::string name = "flow.flows." + std::to_string(2 * (count - 1 - i)) + ".";
    for (auto found = tensors.lower_bound(old); found != tensors.end() && found->first.starts_with(old);) {
      auto entry = tensors.extract(found++);
      entry.key() = name + entry.key().substr(old.size());
      tensors.insert(std::move(entry));
    }
  }
}

void PiperWalk::check_upsampler(const Layer& up) {
  if (failed()) return;
  if (up.dilation != 1 || up.groups != 1 || up.padding * 2 != up.size(2) - up.stride) {
    fault("an upsampling convolution of the decoder is padded as in no VITS");
  }
}

/// The leaky ReLU right before a layer must have this slope.
void PiperWalk::check_slope(const Layer& layer, double slope) {
  if (failed()) return;
  const OnnxNode* node = graph_.producer(layer.data);
  const OnnxAttribute* alpha = node == nullptr || node->op != "LeakyRelu" ? nullptr : node->find("alpha");
  const double found = alpha == nullptr ? 0.01 : static_cast<double>(alpha->real);
  if (node == nullptr || node->op != "LeakyRelu" || std::abs(found - slope) > 1e-6) {
    fault("the decoder has no leaky ReLU of slope " + std::to_string(slope) + " where VITS has one");
  }
}

/// One residual block of stage `up` that begins with convolution `start`; its last convolution.
std::size_t PiperWalk::read_resblock(std::size_t up, std::size_t start, const std::string& name, std::size_t index) {
  VitsConfig& config = out_.config;
  const std::int64_t width = at(start).out_channels();
  const std::int64_t kernel = at(start).kernel();
  auto same = [&](const Layer& layer) {
    return is_conv(layer) && layer.in_channels() == width && layer.out_channels() == width && layer.kernel() == kernel;
  };
  auto paired = [&](std::size_t layer) {
    return find(layer, [&](const Layer& down) {
      return same(down) && down.ups.size() == 1 && down.ups[0] == layer && layer != up;
    });
  };
  const bool two = paired(start) != kNoLayer;
  std::vector<std::int64_t> dilations;
  std::size_t last = start;
  for (std::size_t first = start; first != kNoLayer && dilations.size() < kMaxRepeats && !failed();) {
    const std::string part = dotted(dilations.size());
    const std::size_t second = two ? paired(first) : kNoLayer;
    if (two && second == kNoLayer) fault("a residual block of the decoder has no second convolution in " + name);
    keep(first, name + (two ? ".convs1" : ".convs") + part);
    keep(second, name + ".convs2" + part);
    dilations.push_back(at(first).dilation);
    last = two ? second : first;
    first = find(last, same);
  }
  config.resblock_type = two ? 1 : 2;
  if (index == config.resblock_kernels.size()) {
    config.resblock_kernels.push_back(kernel);
    config.resblock_dilations.push_back(dilations);
  } else if (index > config.resblock_kernels.size() || config.resblock_kernels[index] != kernel ||
             config.resblock_dilations[index] != dilations) {
    fault("the decoder's stages have different residual blocks");
  }
  return last;
}

void PiperWalk::read_decoder() {
  VitsConfig& config = out_.config;
  const std::size_t pre = next(
      latents_,
      [&](const Layer& layer) { return is_conv(layer) && layer.in_channels() == config.latent && layer.kernel() > 1; },
      "dec.conv_pre");
  auto transposed = [](const Layer& layer) { return layer.kind == LayerKind::kConvTranspose; };
  keep(pre, "dec.conv_pre");
  config.decoder_channels = at(pre).out_channels();
  read_condition(find(pre, transposed), "dec.cond");
  std::size_t last = pre;
  std::size_t blocks = 0;
  for (std::size_t stage = 0; stage < kMaxRepeats && !failed(); ++stage) {
    const std::size_t up = find(last, transposed);
    if (up == kNoLayer) break;
    check_upsampler(at(up));
    check_slope(at(up), config.leaky_slope);
    keep(up, "dec.ups." + std::to_string(stage));
    config.upsample_rates.push_back(at(up).stride);
    config.upsample_kernels.push_back(at(up).size(2));
    std::vector<std::size_t> starts;
    for (const std::size_t down : at(up).downs) {
      if (is_conv(at(down)) && at(down).ups.size() == 1 && at(down).out_channels() == at(up).size(1)) {
        starts.push_back(down);
      }
    }
    std::stable_sort(starts.begin(), starts.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(at(a).kernel(), at(a).dilation) < std::pair(at(b).kernel(), at(b).dilation);
    });
    if (starts.empty()) fault("an upsampling stage of the decoder has no residual blocks");
    for (std::size_t i = 0; i < starts.size() && !failed(); ++i) {
      last = read_resblock(up, starts[i], "dec.resblocks." + std::to_string(blocks++), i);
    }
    if (starts.size() != config.resblock_kernels.size()) fault("the decoder's stages have different residual blocks");
  }
  const std::size_t post = next(
      last, [](const Layer& layer) { return is_conv(layer) && layer.out_channels() == 1; },
      "dec.conv_post (MB-iSTFT and other decoders are not supported)");
  check_slope(at(post), 0.01);
  keep(post, "dec.conv_post");
  check_output(post);
}

/// Between the last convolution and the samples there is a tanh and nothing else that computes.
void PiperWalk::check_output(std::size_t conv_post) {
  if (failed()) return;
  if (graph_.graph().outputs.empty()) return fault("the graph has no output");
  const auto found = graph_.upstream(graph_.graph().outputs[0]);
  bool tanh = false;
  for (const OnnxNode* node : found.nodes) {
    static const std::set<std::string_view> kHarmless{"Unsqueeze", "Squeeze", "Reshape", "Identity",
                                                      "Cast",      "Clip",    "Flatten"};
    tanh = tanh || node->op == "Tanh";
    if (node->op != "Tanh" && !kHarmless.contains(node->op)) {
      return fault("the samples go through a " + std::string(node->op) + " node, as in no HiFi-GAN decoder");
    }
  }
  if (!tanh || found.layers.size() != 1 || *found.layers.begin() != conv_post) {
    fault("the graph's first output is not the decoder's");
  }
}

}  // namespace timbre::vits
