// SPDX-License-Identifier: MIT
#include "vits/original_names.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace timbre::vits {
namespace {

constexpr std::size_t kMaxRepeats = 64;

/// Reads sizes by name; the first name that is missing is kept.
class Shapes {
 public:
  explicit Shapes(const TensorSet& set) : set_(set) {}

  /// The size of an axis of NAME.weight in any of its forms.
  std::int64_t weight(const std::string& name, std::size_t axis) {
    for (const char* form : {".weight", ".weight_v", ".parametrizations.weight.original1"}) {
      if (set_.contains(name + form)) return tensor(name + form, axis);
    }
    return tensor(name + ".weight", axis);
  }
  std::int64_t tensor(const std::string& name, std::size_t axis) {
    const voice::TensorView* view = set_.find(name);
    if (view == nullptr || axis >= view->shape.size()) {
      if (missing_.empty()) missing_ = name;
      return 0;
    }
    return view->shape[axis];
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return set_.contains(name + ".weight") || set_.contains(name + ".weight_v") ||
           set_.contains(name + ".parametrizations.weight.original1");
  }
  /// How many of NAME0REST, NAME1REST, ... there are, `step` apart.
  [[nodiscard]] std::size_t count(const std::string& name, const std::string& rest, std::size_t step = 1) const {
    std::size_t n = 0;
    while (n < kMaxRepeats && has(name + std::to_string(n * step) + rest)) ++n;
    return n;
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  const TensorSet& set_;
  std::string missing_;
};

void read_encoder(Shapes& shapes, VitsConfig& config) {
  const std::string relative = "enc_p.encoder.attn_layers.0.emb_rel_k";
  config.token_count = shapes.tensor("enc_p.emb.weight", 0);
  config.hidden = shapes.tensor("enc_p.emb.weight", 1);
  config.latent = shapes.weight("enc_p.proj", 0) / 2;
  config.layers = static_cast<std::int64_t>(shapes.count("enc_p.encoder.attn_layers.", ".conv_q"));
  config.window = (shapes.tensor(relative, 1) - 1) / 2;
  const std::int64_t head = shapes.tensor(relative, 2);
  config.heads = head > 0 ? config.hidden / head : 0;
  config.ffn_channels = shapes.weight("enc_p.encoder.ffn_layers.0.conv_1", 0);
  config.ffn_kernel = shapes.weight("enc_p.encoder.ffn_layers.0.conv_1", 2);
  if (shapes.has("emb_g")) {
    config.speakers = shapes.tensor("emb_g.weight", 0);
    config.voice_dim = shapes.tensor("emb_g.weight", 1);
  }
}

void read_durations(Shapes& shapes, VitsConfig& config) {
  config.stochastic_durations = shapes.has("dp.pre");
  if (!config.stochastic_durations) {
    config.duration_channels = shapes.weight("dp.conv_1", 0);
    config.duration_kernel = shapes.weight("dp.conv_1", 2);
    return;
  }
  config.duration_channels = shapes.weight("dp.pre", 0);
  config.duration_kernel = shapes.weight("dp.convs.convs_sep.0", 2);
  config.dds_layers = static_cast<std::int64_t>(shapes.count("dp.convs.convs_sep.", ""));
  std::size_t flows = 0;
  while (flows < kMaxRepeats && shapes.has("dp.flows." + std::to_string(2 * flows + 3) + ".pre")) ++flows;
  config.duration_flows = static_cast<std::int64_t>(flows);
  config.spline_bins = (shapes.weight("dp.flows.3.proj", 0) + 1) / 3;
}

void read_flow(Shapes& shapes, VitsConfig& config) {
  config.couplings = static_cast<std::int64_t>(shapes.count("flow.flows.", ".pre", 2));
  config.wavenet_layers = static_cast<std::int64_t>(shapes.count("flow.flows.0.enc.in_layers.", ""));
  config.wavenet_kernel = shapes.weight("flow.flows.0.enc.in_layers.0", 2);
}

/// False when the residual blocks are none that are known.
bool read_decoder(Shapes& shapes, VitsConfig& config) {
  config.decoder_channels = shapes.weight("dec.conv_pre", 0);
  const std::size_t stages = shapes.count("dec.ups.", "");
  for (std::size_t i = 0; i < stages; ++i) {
    const std::int64_t kernel = shapes.weight("dec.ups." + std::to_string(i), 2);
    config.upsample_kernels.push_back(kernel);
    config.upsample_rates.push_back(kernel / 2);
  }
  config.resblock_type = shapes.has("dec.resblocks.0.convs1.0") ? 1 : 2;
  const std::string convs = config.resblock_type == 1 ? ".convs1." : ".convs.";
  const std::size_t blocks = shapes.count("dec.resblocks.", convs + "0");
  if (stages == 0 || blocks == 0 || blocks % stages != 0) return false;
  for (std::size_t i = 0; i < blocks / stages; ++i) {
    const std::string name = "dec.resblocks." + std::to_string(i) + convs;
    const std::int64_t kernel = shapes.weight(name + "0", 2);
    const bool known = config.resblock_type == 1 || kernel == 3 || kernel == 5 || kernel == 7;
    if (!known || shapes.count(name, "") != (config.resblock_type == 1 ? 3U : 2U)) return false;
    config.resblock_kernels.push_back(kernel);
    const std::int64_t half = (kernel - 1) / 2;
    config.resblock_dilations.push_back(config.resblock_type == 1 ? std::vector<std::int64_t>{1, 3, 5}
                                        : half == 1               ? std::vector<std::int64_t>{1, 2}
                                        : half == 2               ? std::vector<std::int64_t>{2, 6}
                                                                  : std::vector<std::int64_t>{3, 12});
  }
  return true;
}

}  // namespace

Result<VitsConfig> config_from_tensors(const TensorSet& set, std::string_view where) {
  Shapes shapes(set);
  VitsConfig config;
  read_encoder(shapes, config);
  read_durations(shapes, config);
  read_flow(shapes, config);
  const bool decoder = read_decoder(shapes, config);
  if (!shapes.missing().empty()) {
    return Error{Status::kFormat,
                 std::string(where) + ": no VITS model: tensor \"" + shapes.missing() + "\" is missing"};
  }
  if (!decoder) {
    return Error{Status::kUnsupported, std::string(where) +
                                           ": its decoder has residual blocks of no public VITS "
                                           "configuration, so their dilations are unknown"};
  }
  return config;
}

Result<void> check_config(const VitsConfig& config, std::string_view where) {
  auto fail = [&](std::string_view text) {
    return Error{Status::kUnsupported, std::string(where) + ": no VITS model that can run: " + std::string(text)};
  };
  auto within = [](std::int64_t value, std::int64_t least, std::int64_t most) {
    return value >= least && value <= most;
  };
  constexpr std::int64_t kMostChannels = 8192;
  if (!within(config.token_count, 1, 1 << 20)) return fail("its phoneme table is empty or too large");
  if (!within(config.hidden, 2, kMostChannels) || !within(config.latent, 2, kMostChannels) || config.latent % 2 != 0 ||
      !within(config.ffn_channels, 1, 4 * kMostChannels) || !within(config.ffn_kernel, 1, 63)) {
    return fail("impossible sizes in its text encoder");
  }
  if (!within(config.heads, 1, 64) || config.hidden % config.heads != 0 || !within(config.layers, 1, 64) ||
      !within(config.window, 1, 64)) {
    return fail("impossible attention sizes");
  }
  if (!within(config.speakers, 1, 1'000'000) || !within(config.voice_dim, 0, kMostChannels)) {
    return fail("an impossible speaker table");
  }
  if (!within(config.duration_channels, 1, kMostChannels) || !within(config.duration_kernel, 1, 63) ||
      (config.stochastic_durations && (!within(config.dds_layers, 1, 8) || !within(config.duration_flows, 1, 16) ||
                                       !within(config.spline_bins, 1, 64)))) {
    return fail("impossible sizes in its duration predictor");
  }
  if (!within(config.couplings, 1, 32) || !within(config.wavenet_layers, 1, 32) ||
      !within(config.wavenet_kernel, 1, 63) || config.wavenet_kernel % 2 == 0 ||
      !within(config.wavenet_dilation_rate, 1, 4)) {
    return fail("impossible sizes in its flow");
  }
  const std::size_t stages = config.upsample_rates.size();
  if (!within(static_cast<std::int64_t>(stages), 1, 8) || config.upsample_kernels.size() != stages ||
      !within(config.decoder_channels, 1, kMostChannels) || config.decoder_channels % (1LL << stages) != 0) {
    return fail("impossible upsampling stages in its decoder");
  }
  std::int64_t hop = 1;
  for (std::size_t i = 0; i < stages; ++i) {
    const std::int64_t rate = config.upsample_rates[i];
    const std::int64_t kernel = config.upsample_kernels[i];
    if (!within(rate, 1, 64) || !within(kernel, rate, 256) || (kernel - rate) % 2 != 0) {
      return fail("an upsampling kernel that does not suit its rate");
    }
    hop *= rate;
    if (hop > 4096) return fail("more than 4096 samples to a frame");
  }
  const std::size_t blocks = config.resblock_kernels.size();
  if (!within(static_cast<std::int64_t>(blocks), 1, 16) || config.resblock_dilations.size() != blocks) {
    return fail("impossible residual blocks in its decoder");
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto& dilations = config.resblock_dilations[i];
    const bool usable = within(config.resblock_kernels[i], 1, 31) && config.resblock_kernels[i] % 2 == 1 &&
                        !dilations.empty() && dilations.size() <= 8 &&
                        std::all_of(dilations.begin(), dilations.end(), [&](auto d) { return within(d, 1, 64); });
    if (!usable) return fail("impossible residual blocks in its decoder");
  }
  return {};
}

}  // namespace timbre::vits
