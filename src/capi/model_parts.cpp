// SPDX-License-Identifier: MIT
#include "capi/model_parts.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "capi/guard.hpp"
#include "voice/file_bytes.hpp"

namespace timbre::capi {
namespace {

// What a Hugging Face folder may hold for us. pytorch_model.bin only so that it can be refused with advice.
constexpr std::array kFolderFiles = {"config.json",           "model.safetensors",       "vocab.json",
                                     "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                                     "pytorch_model.bin"};

std::string last_component(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool is_folder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

Result<speech::ModelFile> read_file(const std::string& path, std::string name) {
  Result<voice::FileBytes> file = voice::read_file_bytes(path);
  if (!file) return std::move(file).error();
  return speech::ModelFile{std::move(name), path, file->bytes, std::move(file->owner)};
}

class Collector {
 public:
  Result<void> add(const ModelPart& part) {
    if (part.in_memory) return add_file({part.name, part.name + " (in memory)", part.bytes, nullptr});
    if (is_folder(part.path)) return add_folder(part.path);
    std::string name = part.name.empty() ? last_component(part.path) : part.name;
    if (name.ends_with(".onnx")) {
      files_.directory = folder_of(part.path);
      graph_config_ = part.path + ".json";
    }
    return add_path(part.path, std::move(name));
  }

  Result<speech::ModelFiles> finish() {
    // The configuration beside a graph, unless the host gave one.
    if (!graph_config_.empty() && files_.find_suffix(".json") == nullptr && exists(graph_config_)) {
      if (Result<void> added = add_path(graph_config_, last_component(graph_config_)); !added)
        return std::move(added).error();
    }
    return std::move(files_);
  }

 private:
  Result<void> add_folder(const std::string& folder) {
    files_.directory = folder;
    std::size_t found = 0;
    for (const char* name : kFolderFiles) {
      const std::string path = folder + "/" + name;
      if (!exists(path)) continue;
      if (name == std::string_view("pytorch_model.bin")) {
        if (files_.find("model.safetensors") == nullptr) {
          return Error{Status::kUnsupported,
                       fmt::format("{}: pickled weights are never read; save the model again with "
                                   "safe_serialization=True to get model.safetensors",
                                   path)};
        }
        continue;
      }
      if (Result<void> added = add_path(path, name); !added) return added;
      ++found;
    }
    if (found == 0)
      return Error{Status::kNotFound, fmt::format("{}: the folder holds no config.json or model.safetensors", folder)};
    return {};
  }

  Result<void> add_path(const std::string& path, std::string name) {
    Result<speech::ModelFile> file = read_file(path, std::move(name));
    if (!file) return std::move(file).error();
    return add_file(std::move(*file));
  }

  Result<void> add_file(speech::ModelFile file) {
    if (files_.find(file.name) != nullptr)
      return invalid(fmt::format("two parts of the model are named '{}'", file.name));
    files_.files.push_back(std::move(file));
    return {};
  }

  speech::ModelFiles files_;
  std::string graph_config_;
};

}  // namespace

Result<speech::ModelFiles> collect_model_files(const std::vector<ModelPart>& parts) {
  Collector collector;
  for (const ModelPart& part : parts) {
    if (Result<void> added = collector.add(part); !added) return std::move(added).error();
  }
  return collector.finish();
}

}  // namespace timbre::capi
