// SPDX-License-Identifier: MIT
//
// Piper graphs in all their forms against ONNX Runtime and against their twins under original names. Goldens:
// tests/data/golden/README.md, piper_NAME.
#include "model_case.hpp"

namespace timbre::vits_test {
namespace {

Sentence sentence_of(const nlohmann::json& golden, const speech::Synthesizer& model) {
  Sentence sentence;
  sentence.ids = golden["ids"].get<std::vector<std::int32_t>>();
  sentence.length_scale = golden["length_scale"].get<float>();
  sentence.voice = voice_of(model, golden["speaker"].is_null() ? 0 : golden["speaker"].get<std::int32_t>());
  return sentence;
}

Parts twin_of(const std::string& voice) {
  Parts parts;
  parts.add(kGoldens / (voice + "_twin.safetensors")).add(kGoldens / (voice + ".onnx.json"));
  return parts;
}

}  // namespace

TEST_CASE("every form of a Piper graph gives ONNX Runtime's samples", "[vits][piper]") {
  const Golden golden("piper");
  std::string name;
  std::unique_ptr<speech::Synthesizer> model;
  REQUIRE(golden.description["cases"].size() >= 20);
  for (const auto& each : golden.description["cases"]) {
    if (each["voice"] != name) {
      name = each["voice"];
      model = load(piper(kGoldens / (name + ".onnx")));
    }
    const auto case_name = each["name"].get<std::string>();
    INFO(case_name);
    const Spoken spoken = speak(*model, sentence_of(each, *model));
    CHECK(spoken.frames == golden.integers(case_name + ".durations"));
    CHECK(distance(spoken.samples, golden.floats(case_name + ".waveform")) <= 1e-4);
  }
}

TEST_CASE("a Piper graph and its twin under original names speak alike", "[vits][piper]") {
  for (const std::string voice : {"piper_low", "piper_multi", "piper_multi_high", "piper_merged"}) {
    INFO(voice);
    const auto graph = load(piper(kGoldens / (voice + ".onnx")));
    const auto twin = load(twin_of(voice));
    CHECK(graph->facts().hop_samples == twin->facts().hop_samples);
    CHECK(graph->facts().speaker_count == twin->facts().speaker_count);
    Sentence sentence{{1, 0, 20, 0, 17, 0, 24, 0, 27, 0, 2}, voice_of(*graph, 0), {}, 0.667F, 1, 0.8F, 7, 0};
    const Spoken one = speak(*graph, sentence);
    const Spoken other = speak(*twin, sentence);
    CHECK(one.frames == other.frames);
    CHECK(distance(one.samples, other.samples) <= 1e-5);
  }
}

TEST_CASE("the same weights as a Hugging Face folder speak alike", "[vits][piper][hf]") {
  const auto graph = load(piper(kGoldens / "piper_multi_high.onnx"));
  const auto hf = load(folder(kGoldens / "piper_multi_high_hf"));
  CHECK(hf->facts().family == "hf-vits");
  for (std::int32_t speaker = 0; speaker < 3; ++speaker) {
    const Sentence sentence{{1, 0, 20, 0, 17, 0, 2}, voice_of(*graph, speaker), {}, 0, 1, 0, 0, 0};
    CHECK(voice_of(*hf, speaker) == sentence.voice);
    CHECK(distance(speak(*graph, sentence).samples, speak(*hf, sentence).samples) <= 1e-5);
  }
}

TEST_CASE("external data comes as a part or from the model's folder, and nowhere else", "[vits][piper]") {
  const auto onnx = kGoldens / "piper_multi_external.onnx";
  Parts parts = piper(onnx);
  const std::string fingerprint = load(parts)->facts().fingerprint;
  parts.files.directory.clear();
  auto missing = try_load(parts);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().status == Status::kNotFound);
  CHECK(missing.error().message.find("piper_multi_external.onnx.data") != std::string::npos);
  parts.add(onnx.string() + ".data");
  CHECK(load(parts)->facts().fingerprint == fingerprint);
  SECTION("a name that is a path is refused") {
    std::string bytes = read_file(onnx);
    const std::string name = "piper_multi_external.onnx.data";
    const std::string evil = "../golden/piper_external.data.";
    REQUIRE(name.size() == evil.size());
    for (std::size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name)) {
      bytes.replace(at, name.size(), evil);
    }
    Parts path;
    path.add("x.onnx", bytes).add("x.onnx.json", read_file(onnx.string() + ".json"));
    path.files.directory = kGoldens.string();
    auto refused = try_load(path);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().status == Status::kFormat);
  }
  SECTION("a part that is too short is refused with the tensor's name") {
    Parts cut = piper(onnx);
    cut.add("piper_multi_external.onnx.data", std::string(100, 'x'));
    auto refused = try_load(cut);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().status == Status::kFormat);
    CHECK(refused.error().message.find("does not lie in") != std::string::npos);
  }
}

TEST_CASE("a fingerprint follows the weights, not names or containers", "[vits][piper]") {
  const auto fingerprint = [](const std::string& voice) {
    return load(piper(kGoldens / (voice + ".onnx")))->facts().fingerprint;
  };
  const std::string multi = fingerprint("piper_multi");
  CHECK(multi.size() == 32);
  CHECK(fingerprint("piper_multi_renamed") == multi);
  CHECK(fingerprint("piper_multi_external") == multi);
  CHECK(fingerprint("piper_multi_half") != multi);
  CHECK(fingerprint("piper_low") != multi);
}

TEST_CASE("graphs that are no plain Piper voice are refused with their reason", "[vits][piper]") {
  const std::vector<std::pair<std::string, std::string>> refusals{{"int8_dynamic", "int8"},
                                                                  {"int8_weights", "int8"},
                                                                  {"more_inputs", "prosody"},
                                                                  {"istft_tail", ""},
                                                                  {"unrelated", ""}};
  for (const auto& [name, reason] : refusals) {
    INFO(name);
    Parts parts;
    parts.add(kGoldens / "refused" / (name + ".onnx")).add("x.json", read_file(kGoldens / "piper_multi.onnx.json"));
    auto refused = try_load(parts);
    REQUIRE_FALSE(refused.ok());
    CAPTURE(refused.error().message);
    CHECK(refused.error().status == Status::kUnsupported);
    CHECK(refused.error().message.find(name + ".onnx") != std::string::npos);
    CHECK(refused.error().message.find(reason) != std::string::npos);
  }
}

}  // namespace timbre::vits_test
