// SPDX-License-Identifier: MIT
//
// Fuzzes the ONNX reader and the walk over a Piper graph. Input: a whole .onnx.
#include <span>
#include <vector>

#include "fuzz_target.hpp"
#include "vits/onnx_graph.hpp"
#include "vits/original_names.hpp"
#include "vits/piper_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace timbre;
  using test::require;
  auto graph = vits::read_onnx(std::as_bytes(std::span(data, size)), "fuzz.onnx");
  if (!test::succeeded(graph)) return 0;
  const std::vector<std::byte> beside(4096);
  auto lookup = [&](const std::string&) -> Result<std::span<const std::byte>> { return std::span(beside); };
  if (!vits::attach_external(*graph, lookup, "fuzz.onnx")) return 0;
  auto voice = vits::read_piper_graph(*graph, "fuzz.onnx");
  if (!test::succeeded(voice)) return 0;
  for (const auto& [name, view] : voice->tensors.tensors) {
    require(voice::element_count(view.shape).value_or(0) * voice::dtype_bytes(view.dtype) == view.bytes.size());
  }
  require(voice->tensors.fingerprint().size() == 32);
  (void)vits::check_config(voice->config, "fuzz.onnx").ok();
  return 0;
}
