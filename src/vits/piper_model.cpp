// SPDX-License-Identifier: MIT
#include "vits/piper_model.hpp"

#include <algorithm>
#include <utility>

#include "files/file_bytes.hpp"
#include "vits/model_patch.hpp"
#include "vits/onnx_graph.hpp"
#include "vits/original_names.hpp"
#include "vits/piper_graph.hpp"
#include "vits/piper_json.hpp"

namespace timbre::vits {
namespace {

/// The name comes out of the model, so it is not trusted: one path component, nothing else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

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
        if (!is_plain_name(name)) {
          return Error{Status::kFormat,
                       onnx.where + ": external data \"" + name + "\": only a plain name beside the model is allowed"};
        }
        auto file = files::read_file_bytes(files.directory + "/" + name);
        if (!file) return Error{file.error().status, onnx.where + ": " + file.error().message};
        out.keep.push_back(file->owner);
        return file->bytes;
      },
      onnx.where);
}

Error disagree(const ModelFile& json, const std::string& key, std::int64_t said, const ModelFile& model,
               std::int64_t found) {
  return Error{Status::kMismatch, json.where + ": \"" + key + "\" is " + std::to_string(said) + " but " + model.where +
                                      " has " + std::to_string(found)};
}

/// Where configuration and weights both say something they must agree.
Result<void> check_agreement(const PiperJson& json, const ModelFile& json_file, const ModelFile& main,
                             const VitsConfig& config) {
  if (auto checked = check_config(config, main.where); !checked) return checked.error();
  if (json.hop_samples != 0 && json.hop_samples != config.hop()) {
    return disagree(json_file, "hop_length", json.hop_samples, main, config.hop());
  }
  if (json.speaker_count > 0 && json.speaker_count != config.speakers) {
    return disagree(json_file, "num_speakers", json.speaker_count, main, config.speakers);
  }
  if (json.default_speaker >= config.speakers) {
    return disagree(json_file, "default_speaker_id", json.default_speaker, main, config.speakers);
  }
  return {};
}

void fill_facts(const PiperJson& json, const ModelFile& main, LoadedModel& out) {
  const VitsConfig& config = out.config;
  speech::ModelFacts& facts = out.facts;
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
}

/// Lays every patch among the parts over the model; the fingerprint then hashes base and patches.
Result<void> apply_patches(const ModelFiles& files, LoadedModel& out) {
  std::vector<TensorSet> sets{out.tensors};
  for (const ModelFile& file : files.files) {
    if (!file.name.ends_with(".safetensors")) continue;
    auto read = voice::read_safetensors(file.bytes, file.where);
    if (!read) return read.error();
    auto names = patch_voices(*read, file.where);
    if (!names) return names.error();
    TensorSet patch;
    for (auto& [name, view] : read->tensors) patch.tensors.emplace(name, std::move(view));
    if (auto applied = apply_patch(out.tensors, patch, file.where); !applied) return applied.error();
    if (const voice::TensorView* speakers = out.tensors.find("emb_g.weight")) {
      if (speakers->shape.size() != 2) {
        return Error{Status::kMismatch, file.where + ": tensor \"emb_g.weight\" must be [voices, channels]"};
      }
      out.config.speakers = speakers->shape[0];
      out.config.voice_dim = speakers->shape[1];
    }
    if (!names->empty()) {
      if (names->size() != static_cast<std::size_t>(out.config.speakers)) {
        return Error{Status::kMismatch, file.where + ": metadata \"voices\" names " + std::to_string(names->size()) +
                                            " voices of " + std::to_string(out.config.speakers)};
      }
      out.facts.speaker_names = std::move(*names);
    }
    sets.push_back(std::move(patch));
  }
  std::vector<const TensorSet*> order;
  for (const TensorSet& set : sets) order.push_back(&set);
  out.facts.fingerprint = fingerprint(order);
  return {};
}

/// The configuration of `main`, its warning told.
Result<PiperJson> read_json(const ModelFiles& files, const ModelFile& main, const speech::LoadWarning& warning,
                            const ModelFile*& file) {
  auto found = find_json(files, main);
  if (!found) return found.error();
  file = *found;
  auto json = read_piper_json(file->text(), file->where);
  if (json && !json->warning.empty() && warning) warning(json->warning);
  return json;
}

}  // namespace

Result<LoadedModel> load_piper_onnx(const ModelFiles& files, const ModelFile& onnx,
                                    const speech::LoadWarning& warning) {
  const ModelFile* json_file = nullptr;
  auto json = read_json(files, onnx, warning, json_file);
  if (!json) return json.error();
  LoadedModel out;
  out.where = onnx.where;
  auto graph = read_onnx(onnx.bytes, onnx.where);
  if (!graph) return graph.error();
  if (auto attached = attach_files(*graph, files, onnx, out); !attached) return attached.error();
  auto kept = std::make_shared<const OnnxGraph>(std::move(*graph));
  out.keep.push_back(kept);
  auto voice = read_piper_graph(*kept, onnx.where);
  if (!voice) return voice.error();
  out.tensors = std::move(voice->tensors);
  out.config = std::move(voice->config);
  if (auto agreed = check_agreement(*json, *json_file, onnx, out.config); !agreed) return agreed.error();
  if (auto patched = apply_patches(files, out); !patched) return patched.error();
  const auto names = std::move(out.facts.speaker_names);
  fill_facts(*json, onnx, out);
  if (!names.empty()) out.facts.speaker_names = names;
  if (auto checked = check_config(out.config, onnx.where); !checked) return checked.error();
  return out;
}

Result<LoadedModel> load_piper_tensors(const ModelFiles& files, const ModelFile& weights,
                                       const speech::LoadWarning& warning) {
  const ModelFile* json_file = nullptr;
  auto json = read_json(files, weights, warning, json_file);
  if (!json) return json.error();
  LoadedModel out;
  out.where = weights.where;
  auto read = voice::read_safetensors(weights.bytes, weights.where);
  if (!read) return read.error();
  for (auto& [name, view] : read->tensors) out.tensors.tensors.emplace(name, std::move(view));
  auto config = config_from_tensors(out.tensors, weights.where);
  if (!config) return config.error();
  out.config = std::move(*config);
  if (auto agreed = check_agreement(*json, *json_file, weights, out.config); !agreed) return agreed.error();
  fill_facts(*json, weights, out);
  out.facts.fingerprint = out.tensors.fingerprint();
  return out;
}

}  // namespace timbre::vits
