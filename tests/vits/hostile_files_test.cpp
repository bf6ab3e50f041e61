// SPDX-License-Identifier: MIT
//
// Files that are cut, damaged or something else: an error that says so, or a model whose audio is finite.
#include "model_case.hpp"

namespace timbre::vits_test {
namespace {

/// Loads, and speaks a little if that works. Whatever happens is an answer, but never a crash or a sample that is no
/// number.
void survive(const Parts& parts, bool must_fail) {
  auto loaded = try_load(parts);
  if (!loaded) {
    CHECK_FALSE(loaded.error().message.empty());
    return;
  }
  CHECK_FALSE(must_fail);
  const auto& model = **loaded;
  Sentence sentence{{0, 1, 2 % static_cast<std::int32_t>(model.facts().token_count)}, {}, {}, 0.5F, 1, 0.5F, 1, 0};
  if (model.facts().voice_dim > 0) sentence.voice = voice_of(model, 0);
  auto spoken = try_speak(model, sentence);
  if (!spoken) return;
  for (const float sample : spoken->samples) REQUIRE(std::isfinite(sample));
}

Parts with_onnx(std::string bytes) {
  Parts parts;
  parts.add("x.onnx", std::move(bytes)).add("x.onnx.json", read_file(kGoldens / "piper_multi.onnx.json"));
  return parts;
}

Parts with_json(std::string text) {
  Parts parts;
  parts.add("x.onnx", read_file(kGoldens / "piper_multi.onnx")).add("x.onnx.json", std::move(text));
  return parts;
}

Parts with_weights(std::string bytes) {
  Parts parts;
  parts.add("x.safetensors", std::move(bytes)).add("x.json", read_file(kGoldens / "piper_multi.onnx.json"));
  return parts;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  INFO(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a graph cut anywhere is refused", "[vits][hostile]") {
  const std::string whole = read_file(kGoldens / "piper_multi_renamed.onnx");
  for (std::size_t i = 0; i < 24; ++i) survive(with_onnx(whole.substr(0, whole.size() * i / 24)), true);
  survive(with_onnx(whole.substr(0, whole.size() - 1)), true);
}

TEST_CASE("a graph with flipped bytes is refused or speaks numbers", "[vits][hostile]") {
  const std::string whole = read_file(kGoldens / "piper_multi_renamed.onnx");
  std::uint64_t state = 12345;
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      bytes[(state >> 33U) % bytes.size()] ^= static_cast<char>(1U << ((state >> 20U) % 8));
    }
    survive(with_onnx(std::move(bytes)), false);
  }
}

TEST_CASE("weights that are cut are refused, with flipped bytes they are refused or speak numbers", "[vits][hostile]") {
  const std::string whole = read_file(kGoldens / "piper_multi_twin.safetensors");
  for (std::size_t i = 0; i < 12; ++i) survive(with_weights(whole.substr(0, whole.size() * i / 12)), true);
  std::uint64_t state = 99;
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    bytes[(state >> 33U) % (round % 2 == 0 ? bytes.size() : 4000)] ^= static_cast<char>(1U << ((state >> 20U) % 8));
    survive(with_weights(std::move(bytes)), false);
  }
}

TEST_CASE("files that are something else are named for what they are", "[vits][hostile]") {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 63201294\n";
  const std::string page = "<!DOCTYPE html><html><body>Not found</body></html>";
  auto message = [](const Parts& parts) {
    auto loaded = try_load(parts);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().status == Status::kFormat);
    return loaded.error().message;
  };
  CHECK(message(with_onnx(pointer)).find("LFS") != std::string::npos);
  CHECK(message(with_onnx(page)).find("HTML") != std::string::npos);
  CHECK(message(with_json(pointer)).find("LFS") != std::string::npos);
  CHECK(message(with_json(page)).find("HTML") != std::string::npos);
  CHECK(message(with_weights(pointer)).find("LFS") != std::string::npos);
  CHECK(message(with_weights(page)).find("HTML") != std::string::npos);
}

TEST_CASE("every kind of wrong configuration is refused by file and key", "[vits][hostile]") {
  const std::string good = read_file(kGoldens / "piper_multi.onnx.json");
  REQUIRE(try_load(with_json(good)).ok());
  struct Wrong {
    std::string from, to, key;
  };
  const std::vector<Wrong> cases{
      {"\"sample_rate\": 22050", "\"sample_rate\": \"22050\"", "sample_rate"},
      {"\"sample_rate\": 22050", "\"sample_rate\": 0", "sample_rate"},
      {"\"sample_rate\": 22050", "\"sample_rate\": 22050.5", "sample_rate"},
      {"\"sample_rate\": 22050", "\"sample_rate\": 1e99", "sample_rate"},
      {"\"sample_rate\"", "\"sample_late\"", "sample_rate"},
      {"\"audio\"", "\"radio\"", "audio"},
      {"\"noise_scale\": 0.667", "\"noise_scale\": -1", "noise_scale"},
      {"\"noise_scale\": 0.667", "\"noise_scale\": \"loud\"", "noise_scale"},
      {"\"length_scale\": 1", "\"length_scale\": 0", "length_scale"},
      {"\"noise_w\": 0.8", "\"noise_w\": []", "noise_w"},
      {"\"inference\": {", "\"inference\": [], \"x\": {", "inference"},
      {"\"num_speakers\": 4", "\"num_speakers\": 5", "num_speakers"},
      {"\"num_speakers\": 4", "\"num_speakers\": 1", "num_speakers"},
      {"\"num_speakers\": 4", "\"num_speakers\": {}", "num_speakers"},
      {"\"hop_length\": 16", "\"hop_length\": 256", "hop_length"},
      {"\"hop_length\": 16", "\"hop_length\": 16, \"default_speaker_id\": 4", "default_speaker_id"},
      {"\"hop_length\": 16", "\"hop_length\": 16, \"default_speaker_id\": -1", "default_speaker_id"},
      {"\"speaker_id_map\": {", "\"speaker_id_map\": 3, \"x\": {", "speaker_id_map"},
      {"\"speaker_id_map\": {", "\"speaker_id_map\": {\"z\": \"0\", ", "speaker_id_map"},
  };
  for (const Wrong& wrong : cases) {
    INFO(wrong.to);
    auto loaded = try_load(with_json(replaced(good, wrong.from, wrong.to)));
    REQUIRE_FALSE(loaded.ok());
    CAPTURE(loaded.error().message);
    CHECK(loaded.error().message.find("x.onnx.json") != std::string::npos);
    CHECK(loaded.error().message.find(wrong.key) != std::string::npos);
  }
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("\xFF\xFE{}"),
        good.substr(0, good.size() / 2), std::string(100'000, '['), "{\"a\":" + std::string(1000, '{')}) {
    auto loaded = try_load(with_json(text));
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().status == Status::kFormat);
  }
  Parts alone;
  alone.add("x.onnx", read_file(kGoldens / "piper_multi.onnx"));
  auto loaded = try_load(alone);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().status == Status::kNotFound);
  CHECK(loaded.error().message.find("x.onnx.json") != std::string::npos);
}

TEST_CASE("the slip 22500 is read as 22050 and told", "[vits][hostile]") {
  const Parts parts = with_json(replaced(read_file(kGoldens / "piper_multi.onnx.json"), "22050", "22500"));
  std::vector<std::string> lines;
  speech::Backend::LoadOptions options;
  options.warm_up = false;
  options.warning = [&](std::string line) { lines.push_back(std::move(line)); };
  auto loaded = backend().load(parts.files, options);
  REQUIRE(loaded.ok());
  CHECK((*loaded)->facts().sample_rate_hz == 22050);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("22500") != std::string::npos);
}

TEST_CASE("weights that are not finite are refused by name", "[vits][hostile]") {
  std::string bytes = read_file(kGoldens / "piper_multi_twin.safetensors");
  const float nan = NAN;
  std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);
  auto loaded = try_load(with_weights(bytes));
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().status == Status::kFormat);
  CHECK(loaded.error().message.find("not finite") != std::string::npos);
}

}  // namespace timbre::vits_test
