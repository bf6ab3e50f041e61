// SPDX-License-Identifier: MIT
#include "vits/piper_json.hpp"

#include "files/json_object.hpp"

namespace timbre::vits {
namespace {

using files::JsonObject;

constexpr std::int64_t kMaxSpeakers = 1'000'000;

/// speaker_id_map {"name": index}; each index once.
void read_speakers(JsonObject& root, PiperJson& out) {
  JsonObject map = root.object("speaker_id_map");
  std::vector<std::string> names(map.value().size());
  std::vector<bool> seen(names.size(), false);
  bool dense = true;
  for (const auto& item : map.value().items()) {
    const auto index = static_cast<std::size_t>(map.read_integer(item.value(), item.key(), 0, 0, kMaxSpeakers - 1));
    if (index >= names.size() || seen[index]) {
      dense = false;  // some exporters leave holes or give two names; then only the index is sure
      continue;
    }
    seen[index] = true;
    names[index] = item.key();
  }
  if (dense) out.speaker_names = std::move(names);
}

}  // namespace

Result<PiperJson> read_piper_json(std::string_view text, std::string_view where) {
  auto parsed = JsonObject::parse(text, where);
  if (!parsed) return parsed.error();
  JsonObject& root = *parsed;
  PiperJson out;
  if (!root.contains("audio")) root.fail("audio", "is missing");
  JsonObject audio = root.object("audio");
  out.sample_rate_hz = audio.required_integer("sample_rate", 4000, 384'000);
  if (out.sample_rate_hz == 22500) {  // a slip in several published voices
    out.sample_rate_hz = 22050;
    out.warning = std::string(where) + ": \"audio.sample_rate\" 22500 is taken as 22050";
  }
  JsonObject inference = root.object("inference");
  constexpr double kMost = 100.0;
  out.noise_scale = inference.number("noise_scale", out.noise_scale, 0, kMost);
  out.length_scale = inference.number("length_scale", out.length_scale, 1e-3, kMost);
  out.noise_w = inference.number("noise_w", out.noise_w, 0, kMost);
  out.hop_samples = root.integer("hop_length", 0, 1, 1 << 20);
  out.speaker_count = root.integer("num_speakers", 0, 0, kMaxSpeakers);
  out.default_speaker = root.integer("default_speaker_id", -1, 0, kMaxSpeakers - 1);
  read_speakers(root, out);
  if (auto checked = root.result(); !checked) return checked.error();
  return out;
}

}  // namespace timbre::vits
