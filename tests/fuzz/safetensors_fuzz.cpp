// SPDX-License-Identifier: MIT
//
// Fuzzes the safetensors reader. Input: a whole file. What loads must be written and read again as the same.
#include <algorithm>
#include <span>

#include "fuzz_target.hpp"
#include "vits/model_patch.hpp"
#include "vits/original_names.hpp"
#include "voice/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace timbre;
  using test::require;
  auto file = voice::read_safetensors(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  if (!test::succeeded(file)) return 0;
  const auto bytes = voice::write_safetensors(*file);
  require(bytes.ok());
  const auto again = voice::read_safetensors(*bytes, "again");
  require(again.ok() && again->tensors.size() == file->tensors.size());
  vits::TensorSet set;
  for (const auto& [name, view] : file->tensors) {
    const voice::TensorView& other = again->tensors.at(name);
    require(other.shape == view.shape && other.dtype == view.dtype);
    require(std::equal(view.bytes.begin(), view.bytes.end(), other.bytes.begin(), other.bytes.end()));
    (void)voice::to_floats(view);
    set.tensors.emplace(name, view);
  }
  if (auto config = vits::config_from_tensors(set, "fuzz"); config) (void)vits::check_config(*config, "fuzz").ok();
  (void)vits::patch_voices(*file, "fuzz").ok();
  vits::TensorSet base = set;
  (void)vits::apply_patch(base, set, "fuzz").ok();
  return 0;
}
