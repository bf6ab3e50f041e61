// SPDX-License-Identifier: MIT
//
// What the tests of this layer share: model parts from files, goldens, and a sentence run to its end.
#pragma once

#include <c10/util/Logging.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "speech/synthesizer.hpp"
#include "vits/backend.hpp"
#include "voice/safetensors.hpp"

// LibTorch has a CHECK too, which ends the process.
#undef CHECK
#define CHECK(...) INTERNAL_CATCH_TEST("CHECK", Catch::ResultDisposition::ContinueOnFailure, __VA_ARGS__)

namespace timbre::vits_test {

inline const std::filesystem::path kGoldens = TIMBRE_GOLDEN_DIR;
inline const std::filesystem::path kModels = TIMBRE_TEST_MODELS;
inline const std::filesystem::path kVoice = TIMBRE_JOE_VOICE;
inline const std::filesystem::path kPatch = TIMBRE_FAMILY_PATCH;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  INFO(path);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Parts whose bytes live as long as the object.
struct Parts {
  speech::ModelFiles files;

  Parts& add(const std::string& name, std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    const std::span<const std::byte> view(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
    files.files.push_back({name, name, view, owner});
    return *this;
  }
  Parts& add(const std::filesystem::path& path) { return add(path.filename().string(), read_file(path)); }
};

/// A Piper voice with its configuration.
inline Parts piper(const std::filesystem::path& onnx) {
  Parts parts;
  parts.add(onnx).add(onnx.string() + ".json");
  parts.files.directory = onnx.parent_path().string();
  return parts;
}

/// A Hugging Face folder.
inline Parts folder(const std::filesystem::path& path) {
  Parts parts;
  for (const char* name : {"config.json", "model.safetensors"}) parts.add(path / name);
  return parts;
}

inline vits::TorchBackend& backend() {
  static vits::TorchBackend only;
  static thread_local const bool entered = (only.enter_thread(2), true);
  (void)entered;
  return only;
}

inline Result<std::unique_ptr<speech::Synthesizer>> try_load(const Parts& parts) {
  speech::Backend::LoadOptions options;
  options.warm_up = false;
  return backend().load(parts.files, options);
}

inline std::unique_ptr<speech::Synthesizer> load(const Parts& parts) {
  auto loaded = try_load(parts);
  INFO((loaded ? std::string() : loaded.error().message));
  REQUIRE(loaded.ok());
  return std::move(*loaded);
}

/// A sentence with noise 0 unless the test says otherwise.
struct Sentence {
  std::vector<std::int32_t> ids;
  std::vector<float> voice;
  std::vector<std::int32_t> durations;
  float noise_scale = 0;
  float length_scale = 1;
  float noise_w = 0;
  std::uint64_t seed = 0;
  std::uint32_t segment = 0;
};

struct Spoken {
  std::vector<float> samples;
  std::vector<std::int32_t> frames;
  std::vector<std::size_t> chunks;
};

inline Result<Spoken> try_speak(const speech::Synthesizer& model, const Sentence& sentence) {
  speech::SegmentInput input;
  input.ids = sentence.ids;
  input.voice = sentence.voice;
  input.durations = sentence.durations;
  input.noise_scale = sentence.noise_scale;
  input.length_scale = sentence.length_scale;
  input.noise_w = sentence.noise_w;
  input.seed = sentence.seed;
  input.segment = sentence.segment;
  auto run = model.begin(input);
  if (!run) return run.error();
  for (bool is_prepared = false; !is_prepared;) {
    auto prepared = (*run)->prepare();
    if (!prepared) return prepared.error();
    is_prepared = *prepared;
  }
  Spoken out;
  out.frames.assign((*run)->frames().begin(), (*run)->frames().end());
  for (;;) {
    const std::size_t before = out.samples.size();
    auto more = (*run)->next(out.samples);
    if (!more) return more.error();
    if (!*more) return out;
    out.chunks.push_back(out.samples.size() - before);
  }
}

inline Spoken speak(const speech::Synthesizer& model, const Sentence& sentence) {
  auto spoken = try_speak(model, sentence);
  INFO((spoken ? std::string() : spoken.error().message));
  REQUIRE(spoken.ok());
  return std::move(*spoken);
}

/// The vector of a speaker; empty for a model without conditioning.
inline std::vector<float> voice_of(const speech::Synthesizer& model, std::int32_t speaker) {
  if (model.facts().voice_dim == 0) return {};
  auto vector = model.speaker_vector(speaker);
  REQUIRE(vector.ok());
  return std::move(*vector);
}

/// A golden: its description and its tensors.
class Golden {
 public:
  explicit Golden(const std::string& stem)
      : description(nlohmann::json::parse(read_file(kGoldens / (stem + ".json")))),
        bytes_(read_file(kGoldens / (stem + ".safetensors"))) {
    auto read = voice::read_safetensors({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()}, stem);
    REQUIRE(read.ok());
    content_ = std::move(*read);
  }
  [[nodiscard]] bool has(const std::string& name) const { return content_.tensors.contains(name); }
  [[nodiscard]] const voice::TensorView& view(const std::string& name) const {
    INFO(name);
    const auto found = content_.tensors.find(name);
    REQUIRE(found != content_.tensors.end());
    return found->second;
  }
  [[nodiscard]] std::vector<float> floats(const std::string& name) const { return voice::to_floats(view(name)); }
  [[nodiscard]] std::vector<std::int32_t> integers(const std::string& name) const {
    const auto& tensor = view(name);
    std::vector<std::int32_t> out(tensor.bytes.size() / 8);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::int64_t value = 0;
      std::memcpy(&value, tensor.bytes.data() + 8 * i, 8);
      out[i] = static_cast<std::int32_t>(value);
    }
    return out;
  }

  nlohmann::json description;

 private:
  std::string bytes_;
  voice::Safetensors content_;
};

/// Every `stride`-th element.
inline std::vector<float> every(const std::vector<float>& all, std::size_t stride) {
  std::vector<float> out;
  for (std::size_t i = 0; i < all.size(); i += stride) out.push_back(all[i]);
  return out;
}

/// The largest difference; infinite when the lengths differ or a value is not finite.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double each = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!std::isfinite(each)) return INFINITY;
    most = std::max(most, each);
  }
  return most;
}

}  // namespace timbre::vits_test
