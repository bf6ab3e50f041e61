// SPDX-License-Identifier: MIT
#include "files/disguise.hpp"

#include <catch2/catch.hpp>

using timbre::files::binary_disguise;
using timbre::files::disguise;

TEST_CASE("what was fetched in place of a file is named", "[disguise]") {
  CHECK(disguise("", "a model") == "this is an empty file, not a model");
  CHECK(disguise("<!DOCTYPE html><html>", "JSON") == "this is an HTML or XML page, not JSON");
  CHECK(disguise("\r\n\t <?xml version='1.0'?>", "JSON") == "this is an HTML or XML page, not JSON");
  CHECK(disguise("version https://git-lfs.github.com/spec/v1\noid sha256:1", "JSON") ==
        "this is a Git LFS pointer (git lfs pull fetches the file), not JSON");
  CHECK(disguise("PK\x03\x04model", "an ONNX file") == "this is a zip archive, not an ONNX file");
}

TEST_CASE("what may be the file itself has no disguise", "[disguise]") {
  for (const std::string_view bytes : {"{}", " ", "[<]", "\x08\x07", "PK", "version 1"})
    CHECK(disguise(bytes, "x").empty());
  using namespace std::string_view_literals;
  CHECK(disguise(" <\0\0\0\0\0\0{\"a\":"sv, "a safetensors file").empty());  // a header of 15,392 bytes
}

TEST_CASE("under the name of a binary file, text is a disguise", "[disguise]") {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"hello, I am text\n"sv, "{\"sample_rate\": 22050}"sv,
                                      "Stra\xC3\x9F"
                                      "e"sv})
    CHECK(binary_disguise(text, "an ONNX file") == "this is a text file, not an ONNX file");
  CHECK(binary_disguise("<html>", "an ONNX file") == "this is an HTML or XML page, not an ONNX file");
  CHECK(binary_disguise("", "an ONNX file") == "this is an empty file, not an ONNX file");
  for (const std::string_view bytes : {"\x08\x07\x12\x07pytorch"sv, "H\0\0\0\0\0\0\0{\"a\":"sv, "\xFF\xFE"sv, "\xF8"sv})
    CHECK(binary_disguise(bytes, "x").empty());
}
