// SPDX-License-Identifier: MIT
#include "vits/piper_model.hpp"

#include <algorithm>
#include <utility>

#include "vits/mapped_file.hpp"
#include "vits/onnx_graph.hpp"
#include "vits/piper_graph.hpp"
#include "vits/piper_json.hpp"

namespace timbre::vits {
namespace {

using speech::ModelFile;
using speech::ModelFiles;

/// The configuration of `main`: MAIN.json first, else the only .json there is.
Result<const ModelFile*> find_json(const ModelFiles& files, const ModelFile& main) {
  if (const ModelFile* exact = files.find(main.name + ".json")) return exact;
  const ModelFile* only = nullptr;
  for (const ModelFile& file : files.files) {
    if (!file.name.ends_with(".json")) continue;
    if (only != nullptr) return Error{Status::kNotFound, main.where + ": which .json is its configuration?"};
    only = &file;
  }
  if (only == nullptr) {
    return Error{Status::kNotFound, main.where + ": its configuration \"" + main.name + ".json\" is missing"};
  }
  return only;
}

Result<void> attach_files(OnnxGraph& graph, const ModelFiles& files, const ModelFile& onnx, LoadedModel& out) {
  return attach_external(
      graph,
      [&](const std::string& name) -> Result<std::span<const std::byte>> {
        if (const ModelFile* part = files.find(name)) return part->bytes;
        if (files.directory.empty()) {
          return Error{Status::kNotFound, onnx.where + ": the part \"" + name + "\" that holds its tensors is missing"};
        }
        auto mapped = map_beside(files.directory, name);
        if (!mapped) return Error{mapped.error().status, onnx.where + ": " + mapped.error().message};
        out.keep.push_back(mapped->owner);
        return mapped->bytes;
      },
      onnx.where);
}

Error disagree(const ModelFile& json, const std::string& key, std::int64_t said, const ModelFile& model,
               std::int64_t found) {
  return Error{Status::kMismatch, json.where + ": \"" + key + "\" is " + std::to_string(said) + " but " + model.where +
                                      " has " + std::to_string(found)};
}

/// Facts from configuration and tensors; where both say something they must agree.
Result<void> fill_facts(const PiperJson& json, const ModelFile& json_file, const ModelFile& main, LoadedModel& out) {
  const VitsConfig& config = out.config;
  speech::ModelFacts& facts = out.facts;
  if (json.hop_samples != 0 && json.hop_samples != config.hop()) {
    return disagree(json_file, "hop_length", json.hop_samples, main, config.hop());
  }
  if (json.speaker_count > 1 && json.speaker_count != config.speakers) {
    return disagree(json_file, "num_speakers", json.speaker_count, main, config.speakers);
  }
  if (json.default_speaker >= config.speakers) {
    return disagree(json_file, "default_speaker_id", json.default_speaker, main, config.speakers);
  }
  facts.family = "piper";
  facts.name = main.name.substr(0, main.name.rfind('.'));
  facts.sample_rate_hz = static_cast<std::uint32_t>(json.sample_rate_hz);
  facts.hop_samples = static_cast<std::uint32_t>(config.hop());
  facts.token_count = static_cast<std::uint32_t>(config.token_count);
  facts.speaker_count = static_cast<std::uint32_t>(config.speakers);
  facts.voice_dim = static_cast<std::uint32_t>(config.voice_dim);
  facts.default_speaker = config.speakers == 1 ? 0 : static_cast<std::int32_t>(json.default_speaker);
  if (json.speaker_names.size() == static_cast<std::size_t>(config.speakers)) facts.speaker_names = json.speaker_names;
  facts.noise_scale = static_cast<float>(json.noise_scale);
  facts.length_scale = static_cast<float>(json.length_scale);
  facts.noise_w = static_cast<float>(json.noise_w);
  return {};
}

}  // namespace

Result<LoadedModel> load_piper_onnx(const ModelFiles& files, const ModelFile& onnx,
                                    const speech::LoadWarning& warning) {
  auto json_file = find_json(files, onnx);
  if (!json_file) return json_file.error();
  auto json = read_piper_json((*json_file)->text(), (*json_file)->where);
  if (!json) return json.error();
  if (!json->warning.empty() && warning) warning(json->warning);
  LoadedModel out;
  auto graph = read_onnx(onnx.bytes, onnx.where);
  if (!graph) return graph.error();
  if (auto attached = attach_files(*graph, files, onnx, out); !attached) return attached.error();
  auto voice = read_piper_graph(*graph, onnx.where);
  if (!voice) return voice.error();
  out.tensors = std::move(voice->tensors);
  out.config = std::move(voice->config);
  out.keep.push_back(std::make_shared<const OnnxGraph>(std::move(*graph)));
  if (auto filled = fill_facts(*json, **json_file, onnx, out); !filled) return filled.error();
  out.facts.fingerprint = out.tensors.fingerprint();
  return out;
}

}  // namespace timbre::vits
