// SPDX-License-Identifier: MIT
//
// Hugging Face models against transformers' VitsModel, stage by stage. Goldens: tests/data/golden/README.md, hf_NAME.
#include "model_case.hpp"
#include "vits/model_loader.hpp"
#include "vits/torch_thread.hpp"
#include "vits/vits_graph.hpp"

namespace timbre::vits_test {
namespace {

std::vector<float> values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

vits::VitsGraph build(const Parts& parts) {
  (void)backend();
  auto loaded = vits::load_model(parts.files, {});
  INFO((loaded ? std::string() : loaded.error().message));
  REQUIRE(loaded.ok());
  auto weights = vits::build_weights(loaded->tensors, loaded->config, loaded->where);
  INFO((weights ? std::string() : weights.error().message));
  REQUIRE(weights.ok());
  return {std::move(loaded->config), std::move(*weights)};
}

/// One case through all stages; each stage takes what the one before really gave.
void compare(const vits::VitsGraph& graph, const Golden& golden, const nlohmann::json& each) {
  const vits::TorchScope scope;
  const auto name = each["name"].get<std::string>();
  INFO(name);
  const auto stride = golden.description["stride"].get<std::size_t>();
  auto check = [&](const char* stage, const at::Tensor& tensor) {
    INFO(stage);
    CHECK(distance(every(values(tensor), stride), golden.floats(name + "." + stage)) <= 1e-4);
  };
  const auto ids = each["ids"].get<std::vector<std::int32_t>>();
  std::vector<float> g;
  if (!each["speaker"].is_null()) g = values(graph.weights().speakers[each["speaker"].get<std::int64_t>()]);
  const at::Tensor voice = graph.voice(g);
  const vits::TextEncoding text = graph.encode(ids);
  check("hidden", text.hidden.slice(0, 0, text.ids));
  check("prior_means", text.means);
  check("prior_log_variances", text.log_scales);
  auto logs = graph.durations(text, voice, 0, 0, 0);
  REQUIRE(logs.ok());
  CHECK(distance(*logs, golden.floats(name + ".log_durations")) <= 1e-4);
  auto durations = vits::round_durations(*logs, each["length_scale"].is_null() ? 1 : each["length_scale"].get<float>());
  REQUIRE(durations.ok());
  if (!each["forced_durations"].is_null()) durations = each["forced_durations"].get<std::vector<std::int32_t>>();
  CHECK(*durations == golden.integers(name + ".durations"));
  const vits::PriorInput input{text, vits::spread(*durations), 0, 0, 0};
  const auto frames = static_cast<std::int64_t>(std::max<std::size_t>(1, input.frame_ids.size()));
  vits::FlowStream flow(graph.weights().flow, graph.config(), frames, voice);
  const at::Tensor latents = flow.step(graph.prior(input, 0, frames), frames);
  check("latents", latents.t());
  const auto& decoder = graph.weights().decoder;
  const at::Tensor condition = decoder.condition ? decoder.condition(voice) : at::Tensor();
  check("waveform", vits::DecoderStream(decoder, graph.config(), frames, condition).step(latents, frames));
}

void compare_all(const std::string& stem, const std::filesystem::path& path) {
  INFO(stem);
  const Golden golden(stem);
  const vits::VitsGraph graph = build(folder(path));
  for (auto each : golden.description["cases"]) {
    for (const char* key : {"length_scale", "forced_durations", "speaker"}) {
      if (!each.contains(key)) each[key] = nullptr;
    }
    compare(graph, golden, each);
  }
}

}  // namespace

TEST_CASE("tiny models give transformers' values at every stage, in every form of weights", "[vits][hf]") {
  for (const char* form : {"plain", "weight_norm_gv", "parametrizations", "weight_norm_all"}) {
    compare_all("hf_tiny", kModels / (std::string("hf-tiny-") + form));
    compare_all("hf_tiny_multi", kModels / (std::string("hf-tiny-multi-") + form));
  }
}

TEST_CASE("the deterministic duration predictor gives transformers' values", "[vits][hf]") {
  compare_all("hf_tiny_plain_durations", kModels / "hf-tiny-plain-durations-weight_norm_gv");
  compare_all("hf_tiny_multi_plain_durations", kModels / "hf-tiny-multi-plain-durations-weight_norm_gv");
}

TEST_CASE("models of the true mms and vctk shapes give transformers' values at every stage", "[vits][hf][full]") {
  compare_all("hf_mms", kModels / "hf-mms-plain");
  compare_all("hf_vctk", kModels / "hf-vctk-plain");
}

TEST_CASE("weights that are missing or of another shape are refused by name", "[vits][hf]") {
  Parts parts = folder(kModels / "hf-tiny-plain");
  std::string config = read_file(kModels / "hf-tiny-plain" / "config.json");
  SECTION("another shape") {
    const auto at = config.find("\"ffn_dim\": 64");
    REQUIRE(at != std::string::npos);
    config.replace(at, 13, "\"ffn_dim\": 68");
    Parts other;
    other.add("config.json", config).add(kModels / "hf-tiny-plain" / "model.safetensors");
    auto refused = try_load(other);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().status == Status::kMismatch);
    CHECK(refused.error().message.find("enc_p.encoder.ffn_layers.0.conv_1") != std::string::npos);
  }
  SECTION("pickled weights") {
    Parts other;
    other.add("config.json", config).add("pytorch_model.bin", "PK");
    auto refused = try_load(other);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().status == Status::kUnsupported);
    CHECK(refused.error().message.find("safe_serialization") != std::string::npos);
  }
  SECTION("no weights at all") {
    Parts other;
    other.add("config.json", config);
    auto refused = try_load(other);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().status == Status::kNotFound);
  }
}

}  // namespace timbre::vits_test
