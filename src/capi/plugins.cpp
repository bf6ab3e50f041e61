// SPDX-License-Identifier: MIT
#include "capi/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>

#include "capi/process.hpp"
#include "timbre/c/version.h"

namespace timbre::capi {
namespace {

// The LibTorch that libtimbre-torch.so was built with; aoti_torch_abi_version() packs a version so.
constexpr std::uint64_t kTorchAbi = (std::uint64_t{TIMBRE_TORCH_MAJOR} << 56U) |
                                    (std::uint64_t{TIMBRE_TORCH_MINOR} << 48U) |
                                    (std::uint64_t{TIMBRE_TORCH_PATCH} << 40U);

std::string version_text(std::uint64_t abi) {
  return fmt::format("{}.{}.{}", abi >> 56U, (abi >> 48U) & 0xFFU, (abi >> 40U) & 0xFFU);
}

int find_torch(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with("libtorch_cpu.so")) return 0;
  static_cast<std::string*>(out)->assign(path);
  return 1;
}

/// An error if another LibTorch is already mapped.
Result<void> check_mapped_torch(const std::string& plugin) {
  std::string mapped;
  dl_iterate_phdr(find_torch, &mapped);
  if (mapped.empty()) return {};
  void* const library = dlopen(mapped.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* const version =
      library == nullptr ? nullptr : reinterpret_cast<std::uint64_t (*)()>(dlsym(library, "aoti_torch_abi_version"));
  const std::string found = version == nullptr ? "unknown version" : version_text(version());
  const bool same = version != nullptr && version() == kTorchAbi;
  if (library != nullptr) dlclose(library);
  if (same) return {};
  return Error{Status::kIncompatible,
               fmt::format("this process has LibTorch {} mapped from {}, but {} was built for LibTorch {}", found,
                           mapped, plugin, version_text(kTorchAbi))};
}

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&timbre_version), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::canonical(info.dli_fname, ignored);
  return ignored ? std::filesystem::path(info.dli_fname).parent_path().string() : path.parent_path().string();
}

Result<speech::Backend*> open_backend() {
  Result<std::string> path = find_plugin("libtimbre-torch.so");
  if (!path) return std::move(path).error();
  if (Result<void> checked = check_mapped_torch(*path); !checked) return std::move(checked).error();
  void* const library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return Error{Status::kIncompatible, fmt::format("{} does not load: {}", *path, dlerror())};
  auto* const entry = reinterpret_cast<speech::BackendEntry>(dlsym(library, speech::kBackendEntryName));
  speech::Backend* const backend = entry == nullptr ? nullptr : entry(TIMBRE_BACKEND_BUILD);
  if (backend == nullptr) return Error{Status::kIncompatible, fmt::format("{} is of another build of timbre", *path)};
  renew_exit_handler();
  return backend;
}

}  // namespace

Result<std::string> find_plugin(const std::string& file_name) {
  const std::string folder = own_folder();
  for (const std::string& path : {folder + "/" + file_name, folder + "/timbre/" + file_name}) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return Error{Status::kNotFound, fmt::format("{} is neither in {} nor in {}/timbre", file_name, folder, folder)};
}

Result<speech::Backend*> torch_backend() {
  static std::mutex mutex;
  static speech::Backend* backend = nullptr;  // guarded by mutex; a failure is not kept, the next load tries again
  const std::lock_guard lock(mutex);
  if (backend != nullptr) return backend;
  Result<speech::Backend*> opened = open_backend();
  if (opened) backend = *opened;
  return opened;
}

}  // namespace timbre::capi
