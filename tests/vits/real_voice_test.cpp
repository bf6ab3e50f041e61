// SPDX-License-Identifier: MIT
//
// The real voice en_US-joe-medium and the six-voice model that its patch makes, against ONNX Runtime. Goldens:
// tests/data/golden/README.md, joe and joe_family.
#include "model_case.hpp"

namespace timbre::vits_test {
namespace {

std::vector<float> cut(const std::vector<float>& all, std::size_t first, std::size_t count) {
  if (first + count > all.size()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

/// Compares one case of the golden; the stored runs are compared too, so that no sample's place can shift.
void compare(const Golden& golden, const nlohmann::json& each, const speech::Synthesizer& model) {
  const auto name = each["name"].get<std::string>();
  INFO(name);
  Sentence sentence;
  sentence.ids = each["ids"].get<std::vector<std::int32_t>>();
  sentence.voice = voice_of(model, each["speaker"].is_null() ? 0 : each["speaker"].get<std::int32_t>());
  const Spoken spoken = speak(model, sentence);
  CHECK(spoken.frames == golden.integers(name + ".durations"));
  REQUIRE(spoken.samples.size() == each["samples"].get<std::size_t>());
  const auto stride = golden.description["stride"].get<std::size_t>();
  CHECK(distance(every(spoken.samples, stride), golden.floats(name + ".strided")) <= 1e-4);
  const auto& dense = golden.view(name + ".dense");
  const auto runs = golden.floats(name + ".dense");
  const auto length = static_cast<std::size_t>(dense.shape[1]);
  for (std::size_t i = 0; i < each["dense_starts"].size(); ++i) {
    const auto start = each["dense_starts"][i].get<std::size_t>();
    CHECK(distance(cut(spoken.samples, start, length), cut(runs, i * length, length)) <= 1e-4);
  }
}

void compare_all(const Golden& golden, const speech::Synthesizer& model, std::size_t least) {
  REQUIRE(golden.description["cases"].size() >= least);
  for (const auto& each : golden.description["cases"]) compare(golden, each, model);
}

Parts family() { return piper(kVoice).add(kPatch); }

}  // namespace

TEST_CASE("the real voice gives ONNX Runtime's samples on every sentence", "[vits][joe]") {
  const Golden golden("joe");
  const auto model = load(piper(kVoice));
  CHECK(model->facts().sample_rate_hz == 22050);
  CHECK(model->facts().name == "en_US-joe-medium");
  compare_all(golden, *model, 20);
}

TEST_CASE("the patch makes six voices that give ONNX Runtime's samples", "[vits][joe]") {
  const Golden golden("joe_family");
  const auto model = load(family());
  CHECK(model->facts().speaker_names == std::vector<std::string>{"joe", "giant", "woman", "child", "elder", "imp"});
  compare_all(golden, *model, 18);
}

TEST_CASE("base and patch have a fingerprint of their own", "[vits][joe]") {
  const std::string base = load(piper(kVoice))->facts().fingerprint;
  const std::string patched = load(family())->facts().fingerprint;
  CHECK(base != patched);
  CHECK(load(family())->facts().fingerprint == patched);
}

TEST_CASE("a patch that does not fit its base is refused by the tensor's name", "[vits][joe]") {
  Parts parts = piper(kGoldens / "piper_low.onnx");
  parts.add(kPatch);
  auto refused = try_load(parts);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().status == Status::kMismatch);
  CHECK(refused.error().message.find("tensor \"dec.") != std::string::npos);
}

}  // namespace timbre::vits_test
