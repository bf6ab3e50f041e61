// SPDX-License-Identifier: MIT
//
// Fuzzes the configurations of models. Input: one byte that chooses, then the JSON of a Piper voice or of a Hugging
// Face folder.
#include <span>
#include <string_view>

#include "fuzz_target.hpp"
#include "vits/hf_model.hpp"
#include "vits/piper_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace timbre;
  using test::require;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    auto json = vits::read_piper_json(text, "fuzz.onnx.json");
    if (!test::succeeded(json)) return 0;
    require(json->sample_rate_hz >= 4000 && json->length_scale > 0 && json->noise_scale >= 0 && json->noise_w >= 0);
    return 0;
  }
  speech::ModelFiles files;
  files.files.push_back({"config.json", "config.json", std::as_bytes(std::span(text)), nullptr});
  auto loaded = vits::load_hf(files, files.files[0]);
  require(!test::succeeded(loaded));  // there are no weights
  return 0;
}
