// SPDX-License-Identifier: MIT
#include "vits/hf_model.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "files/json_object.hpp"
#include "vits/original_names.hpp"

namespace timbre::vits {
namespace {

using files::JsonObject;
using Parts = std::vector<std::string>;

Parts split(std::string_view name) {
  Parts parts;
  while (true) {
    const auto dot = name.find('.');
    parts.emplace_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

std::string join(const Parts& parts, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < parts.size(); ++i) out += (out.empty() ? "" : ".") + parts[i];
  return out;
}

/// Layer norms are weight and bias in one, gamma and beta in the other.
std::string norm_part(const std::string& part) {
  if (part == "weight") return "gamma";
  if (part == "bias") return "beta";
  return part;
}

/// text_encoder.encoder.layers.N.REST
std::string encoder_name(const Parts& parts) {
  const std::string index = parts[3];
  const std::string root = "enc_p.encoder.";
  if (parts[4] == "attention" && parts.size() >= 6) {
    const std::string& which = parts[5];
    if (which.ends_with("_proj") && parts.size() >= 7) {
      const std::string letter = which == "out_proj" ? "o" : which.substr(0, 1);
      return root + "attn_layers." + index + ".conv_" + letter + "." + join(parts, 6);
    }
    return root + "attn_layers." + index + "." + join(parts, 5);
  }
  if (parts[4] == "layer_norm") return root + "norm_layers_1." + index + "." + norm_part(join(parts, 5));
  if (parts[4] == "final_layer_norm") return root + "norm_layers_2." + index + "." + norm_part(join(parts, 5));
  if (parts[4] == "feed_forward") return root + "ffn_layers." + index + "." + join(parts, 5);
  return {};
}

/// A piece of the duration predictor below its name: conv_pre, conv_dds.convs_dilated.0, norm_1, ...
std::string duration_piece(const Parts& parts, std::size_t from) {
  const std::string& head = parts[from];
  if (head == "conv_pre") return "pre." + join(parts, from + 1);
  if (head == "conv_proj") return "proj." + join(parts, from + 1);
  if (head.starts_with("norm_")) return head + "." + norm_part(join(parts, from + 1));
  if (head == "conv_dds" && parts.size() > from + 3) {
    const std::string& kind = parts[from + 1];
    const std::string index = "." + parts[from + 2] + ".";
    const std::string rest = join(parts, from + 3);
    if (kind == "convs_dilated") return "convs.convs_sep" + index + rest;
    if (kind == "convs_pointwise") return "convs.convs_1x1" + index + rest;
    return "convs." + kind + index + norm_part(rest);
  }
  return join(parts, from);
}

/// The number in a name; -1 if it is none.
std::int64_t number(const std::string& text) {
  std::int64_t value = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value <= 1000 ? value : -1;
}

std::string duration_name(const Parts& parts) {
  if (parts[1] != "flows" || parts.size() < 4) return "dp." + duration_piece(parts, 1);
  const std::int64_t index = number(parts[2]);
  if (index == 0) {
    if (parts[3] == "translate") return "dp.flows.0.m";
    if (parts[3] == "log_scale") return "dp.flows.0.logs";
  }
  return "dp.flows." + std::to_string(2 * index - 1) + "." + duration_piece(parts, 3);
}

std::string flow_name(const Parts& parts) {
  std::string part = parts[3];
  if (part == "conv_pre") part = "pre";
  if (part == "conv_post") part = "post";
  if (part == "wavenet") part = "enc";
  return "flow.flows." + std::to_string(2 * number(parts[2])) + "." + part + "." + join(parts, 4);
}

/// What the graph can run of the choices that the configuration offers.
void check_choices(JsonObject& json, bool& wrong_model) {
  wrong_model = json.text("model_type", "vits") != "vits";
  if (const std::string act = json.text("hidden_act", "relu"); act != "relu") {
    json.fail("hidden_act", "is \"" + act + "\" where only \"relu\" is supported");
  }
  if (json.integer("depth_separable_channels", 2, 0, 64) != 2) json.fail("depth_separable_channels", "must be 2");
}

void read_encoder(JsonObject& json, VitsConfig& config) {
  constexpr std::int64_t kMost = 8192;
  config.token_count = json.required_integer("vocab_size", 1, 1 << 20);
  config.hidden = json.required_integer("hidden_size", 2, kMost);
  config.latent = json.required_integer("flow_size", 2, kMost);
  config.heads = json.required_integer("num_attention_heads", 1, 64);
  config.layers = json.required_integer("num_hidden_layers", 1, 64);
  config.window = json.integer("window_size", 4, 1, 64);
  config.ffn_channels = json.required_integer("ffn_dim", 1, 4 * kMost);
  config.ffn_kernel = json.integer("ffn_kernel_size", 3, 1, 63);
  config.layer_norm_eps = json.number("layer_norm_eps", 1e-5, 1e-12, 1);
  config.attention_bias = json.boolean("use_bias", true);
  config.speakers = json.integer("num_speakers", 1, 1, 1'000'000);
  // Without a table of speakers transformers runs such a model unconditioned, whatever its conditioning layers are.
  if (config.speakers > 1) config.voice_dim = json.integer("speaker_embedding_size", 0, 1, kMost);
}

void read_rest(JsonObject& json, VitsConfig& config) {
  config.stochastic_durations = json.boolean("use_stochastic_duration_prediction", true);
  config.duration_channels =
      config.stochastic_durations ? config.hidden : json.integer("duration_predictor_filter_channels", 256, 1, 8192);
  config.duration_kernel = json.integer("duration_predictor_kernel_size", 3, 1, 63);
  config.dds_layers = json.integer("depth_separable_num_layers", 3, 1, 8);
  config.duration_flows = json.integer("duration_predictor_num_flows", 4, 2, 16) - 1;
  config.spline_bins = json.integer("duration_predictor_flow_bins", 10, 1, 64);
  config.spline_tail = json.number("duration_predictor_tail_bound", 5.0, 1e-3, 1e3);
  config.couplings = json.integer("prior_encoder_num_flows", 4, 1, 32);
  config.wavenet_layers = json.integer("prior_encoder_num_wavenet_layers", 4, 1, 32);
  config.wavenet_kernel = json.integer("wavenet_kernel_size", 5, 1, 63);
  config.wavenet_dilation_rate = json.integer("wavenet_dilation_rate", 1, 1, 4);
  config.decoder_channels = json.integer("upsample_initial_channel", 512, 1, 8192);
  config.upsample_rates = json.integers("upsample_rates", 1, 64);
  config.upsample_kernels = json.integers("upsample_kernel_sizes", 1, 256);
  config.resblock_type = 1;
  config.resblock_kernels = json.integers("resblock_kernel_sizes", 1, 31);
  config.resblock_dilations = json.integer_lists("resblock_dilation_sizes", 1, 64);
  config.leaky_slope = json.number("leaky_relu_slope", 0.1, 0, 1);
}

void read_facts(JsonObject& json, const VitsConfig& config, speech::ModelFacts& facts) {
  facts.family = "hf-vits";
  facts.name = json.text("_name_or_path", "");
  facts.sample_rate_hz = static_cast<std::uint32_t>(json.integer("sampling_rate", 16000, 4000, 384'000));
  facts.hop_samples = static_cast<std::uint32_t>(config.hop());
  facts.token_count = static_cast<std::uint32_t>(config.token_count);
  facts.speaker_count = static_cast<std::uint32_t>(config.speakers);
  facts.voice_dim = static_cast<std::uint32_t>(config.voice_dim);
  facts.default_speaker = config.speakers == 1 ? 0 : -1;
  facts.noise_scale = static_cast<float>(json.number("noise_scale", 0.667, 0, 100));
  facts.length_scale = static_cast<float>(1.0 / json.number("speaking_rate", 1.0, 1e-2, 1e3));
  facts.noise_w = static_cast<float>(json.number("noise_scale_duration", 0.8, 0, 100));
}

Result<const speech::ModelFile*> find_weights(const speech::ModelFiles& files, const speech::ModelFile& config_file) {
  if (const auto* exact = files.find("model.safetensors")) return exact;
  if (const auto* any = files.find_suffix(".safetensors")) return any;
  return Error{Status::kNotFound, config_file.where + ": the part \"model.safetensors\" is missing"};
}

}  // namespace

std::string original_name(std::string_view hf_name) {
  const Parts parts = split(hf_name);
  const std::string& head = parts[0];
  std::string out;
  if (head == "text_encoder" && parts.size() >= 3) {
    if (parts[1] == "embed_tokens") out = "enc_p.emb." + join(parts, 2);
    if (parts[1] == "project") out = "enc_p.proj." + join(parts, 2);
    if (parts[1] == "encoder" && parts.size() >= 6) out = encoder_name(parts);
  } else if (head == "duration_predictor" && parts.size() >= 3) {
    out = duration_name(parts);
  } else if (head == "flow" && parts.size() >= 5) {
    out = flow_name(parts);
  } else if (head == "decoder" && parts.size() >= 3) {
    out = parts[1] == "upsampler" ? "dec.ups." + join(parts, 2) : "dec." + join(parts, 1);
  } else if (head == "embed_speaker") {
    out = "emb_g." + join(parts, 1);
  } else if (head == "posterior_encoder") {
    out = "enc_q." + join(parts, 1);
  }
  return out.empty() ? std::string(hf_name) : out;
}

Result<LoadedModel> load_hf(const speech::ModelFiles& files, const speech::ModelFile& config_file) {
  auto json = JsonObject::parse(config_file.text(), config_file.where);
  if (!json) return json.error();
  LoadedModel out;
  bool wrong_model = false;
  check_choices(*json, wrong_model);
  if (wrong_model) {
    return Error{Status::kUnsupported, config_file.where + ": \"model_type\" is not \"vits\""};
  }
  read_encoder(*json, out.config);
  read_rest(*json, out.config);
  if (auto read = json->result(); !read) return read.error();
  if (auto checked = check_config(out.config, config_file.where); !checked) return checked.error();
  read_facts(*json, out.config, out.facts);
  if (auto read = json->result(); !read) return read.error();
  auto weights_file = find_weights(files, config_file);
  if (!weights_file) return weights_file.error();
  auto weights = voice::read_safetensors((*weights_file)->bytes, (*weights_file)->where);
  if (!weights) return weights.error();
  for (auto& [name, view] : weights->tensors) {
    if (!out.tensors.tensors.emplace(original_name(name), std::move(view)).second) {
      return Error{Status::kFormat, (*weights_file)->where + ": two tensors stand for \"" + original_name(name) + "\""};
    }
  }
  out.where = (*weights_file)->where;
  out.facts.fingerprint = out.tensors.fingerprint();
  return out;
}

}  // namespace timbre::vits
