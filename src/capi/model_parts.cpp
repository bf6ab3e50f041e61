// SPDX-License-Identifier: MIT
#include "capi/model_parts.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "capi/guard.hpp"
#include "files/disguise.hpp"
#include "files/file_bytes.hpp"

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

/// Whether there is an entry of this name, be it a link that leads nowhere: reading it then tells what is wrong.
bool exists(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool is_folder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool is_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

/// First gathers the names of all parts and looks at how the weights begin, then reads: configurations before weights,
/// which may be gigabytes.
class Collector {
 public:
  Result<void> add(const ModelPart& part) {
    if (part.in_memory) return add_file({part.name, part.name + " (in memory)", part.bytes, nullptr});
    if (is_folder(part.path)) return add_folder(part.path);
    std::string name = part.name.empty() ? last_component(part.path) : part.name;
    if (graph_.empty() && name.ends_with(".onnx")) {
      files_.directory = folder_of(part.path);
      graph_ = part.path;
    }
    return add_path(part.path, std::move(name));
  }

  Result<speech::ModelFiles> finish() {
    if (Result<void> checked = check_weights(); !checked) return std::move(checked).error();
    if (Result<void> added = add_graph_config(); !added) return std::move(added).error();
    for (const bool configurations : {true, false}) {
      for (speech::ModelFile& file : files_.files) {
        if (file.name.ends_with(".json") != configurations) continue;
        if (Result<void> read = read_file(file); !read) return std::move(read).error();
      }
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

  /// What is no model, whatever its name, is told before a configuration is missed or read.
  Result<void> check_weights() const {
    for (const speech::ModelFile& file : files_.files) {
      const bool graph = file.name.ends_with(".onnx");
      if (!graph && !file.name.ends_with(".safetensors")) continue;
      const Result<std::string> head = head_of(file);
      if (!head || head->empty()) continue;  // reading it whole tells more
      const std::string other = files::binary_disguise(*head, graph ? "an ONNX file" : "a safetensors file");
      if (!other.empty()) return Error{Status::kFormat, fmt::format("{}: {}", file.where, other)};
    }
    return {};
  }

  static Result<std::string> head_of(const speech::ModelFile& file) {
    if (file.bytes.empty()) return files::read_file_head(file.where, files::kDisguiseBytes);
    return std::string(file.text().substr(0, files::kDisguiseBytes));
  }

  /// The configuration beside a graph, unless the host gave one.
  Result<void> add_graph_config() {
    if (graph_.empty() || files_.find_suffix(".json") != nullptr) return {};
    const std::string path = graph_ + ".json";
    if (exists(path)) return add_path(path, last_component(path));
    if (!is_file(graph_)) return {};  // reading it tells more
    return Error{Status::kNotFound, fmt::format("{}: its configuration {} is missing", graph_, path)};
  }

  Result<void> add_path(const std::string& path, std::string name) {
    return add_file({std::move(name), path, {}, nullptr});
  }

  Result<void> add_file(speech::ModelFile file) {
    if (files_.find(file.name) != nullptr)
      return invalid(fmt::format("two parts of the model are named '{}'", file.name));
    files_.files.push_back(std::move(file));
    return {};
  }

  /// Reads a part that has a path; one in memory is never empty.
  static Result<void> read_file(speech::ModelFile& file) {
    if (!file.bytes.empty()) return {};
    Result<files::FileBytes> read = files::read_file_bytes(file.where);
    if (!read) return std::move(read).error();
    file.bytes = read->bytes;
    file.owner = std::move(read->owner);
    return {};
  }

  speech::ModelFiles files_;
  std::string graph_;  // path of the first .onnx
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
