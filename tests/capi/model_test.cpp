// SPDX-License-Identifier: MIT
#include <cstdio>
#include <fstream>

#include "../temporary_folder.hpp"
#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers

namespace {

/// Loads parts and gives the status.
timbre_status load(timbre_engine* engine, std::vector<timbre_model_file> files) {
  for (timbre_model_file& file : files) file.struct_size = sizeof file;
  timbre_model* model = nullptr;
  const timbre_status status =
      timbre_model_load(engine, files.data(), files.size(), sizeof(timbre_model_file), nullptr, &model);
  REQUIRE((model != nullptr) == (status == TIMBRE_OK));
  timbre_model_release(model);
  return status;
}

timbre_model_file path_part(const char* path) {
  timbre_model_file file{};
  file.path = path;
  return file;
}

timbre_model_file memory_part(const char* name, const std::string& bytes) {
  timbre_model_file file{};
  file.name = name;
  file.data = bytes.data();
  file.size_bytes = bytes.size();
  return file;
}

/// The message of a load that must fail with `status`.
std::string refusal(timbre_engine* engine, const std::string& path, timbre_status status) {
  CHECK(load(engine, {path_part(path.c_str())}) == status);
  return timbre_last_error();
}

}  // namespace

TEST_CASE("the tone model tells what the documentation says", "[capi][model]") {
  ToneEngine tone;
  const timbre_model_details details = info(tone.model);
  REQUIRE(details.sample_rate_hz == 22'050);
  REQUIRE(details.speaker_count == 4);
  REQUIRE(details.voice_dim == 16);
  REQUIRE(std::string(details.family) == "tone");
  REQUIRE(std::string(details.fingerprint).size() == 32);
  REQUIRE(details.precision == TIMBRE_PRECISION_FP32);
  const char* name = nullptr;
  REQUIRE(timbre_model_speaker_name(tone.model, 3, &name) == TIMBRE_OK);
  REQUIRE(std::string(name) == "soprano");
  REQUIRE(timbre_model_speaker_name(tone.model, 4, &name) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_model_speaker_name(tone.model, -1, &name) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("the tone model stands alone", "[capi][model]") {
  ToneEngine tone;
  REQUIRE(load(tone.engine, {path_part("tone:"), path_part("voice.onnx")}) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(std::string(timbre_last_error()).find("tone:") != std::string::npos);
  REQUIRE(load(tone.engine, {path_part("voice.onnx"), path_part("tone:")}) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("an engine that is destroyed by its load's callback gives no model", "[capi][model]") {
  timbre_engine* engine = nullptr;
  REQUIRE(timbre_engine_create(nullptr, &engine) == TIMBRE_OK);
  timbre_model_options options;
  REQUIRE(timbre_model_options_init(&options, sizeof options) == TIMBRE_OK);
  options.progress = [](void* user, float, const char*) -> std::int32_t {
    timbre_engine_destroy(static_cast<timbre_engine*>(user));
    return 0;
  };
  options.progress_user = engine;
  timbre_model_file tone = path_part("tone:");
  tone.struct_size = sizeof tone;
  timbre_model* model = nullptr;
  REQUIRE(timbre_model_load(engine, &tone, 1, sizeof tone, &options, &model) == TIMBRE_ERR_CLOSED);
  REQUIRE(model == nullptr);
}

TEST_CASE("tokenize shows ids, sentences and source bytes, and counts what is unknown", "[capi][model]") {
  ToneEngine tone;
  const std::string text =
      "ab c. \xE4\xB8\xAD"
      "d!";
  std::uint64_t count = 0;
  std::uint64_t skipped = 0;
  REQUIRE(timbre_model_tokenize(tone.model, text.data(), text.size(), TIMBRE_INPUT_TEXT, sizeof(timbre_token), nullptr,
                                0, &count, &skipped) == TIMBRE_OK);
  REQUIRE(count > 8);
  REQUIRE(skipped == 1);
  std::vector<timbre_token> tokens(count);
  REQUIRE(timbre_model_tokenize(tone.model, text.data(), text.size(), TIMBRE_INPUT_TEXT, sizeof(timbre_token),
                                tokens.data(), tokens.size(), &count, &skipped) == TIMBRE_OK);
  REQUIRE(tokens.front().id == 1);
  REQUIRE(tokens.back().id == 2);
  REQUIRE(tokens.back().sentence == 1);
  for (const timbre_token& token : tokens) {
    REQUIRE(token.source_begin <= token.source_end);
    REQUIRE(token.source_end <= text.size());
  }
  REQUIRE(timbre_model_tokenize(tone.model, "\xFF", 1, TIMBRE_INPUT_TEXT, sizeof(timbre_token), nullptr, 0, &count,
                                nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_model_tokenize(tone.model, "x", 1, TIMBRE_INPUT_IDS, sizeof(timbre_token), nullptr, 0, &count,
                                nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_model_tokenize(tone.model, "x", 1, TIMBRE_INPUT_TEXT, 3, nullptr, 0, &count, nullptr) ==
          TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("parts that cannot be read are told by name", "[capi][model]") {
  ToneEngine tone;
  REQUIRE(load(tone.engine, {}) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(load(tone.engine, {timbre_model_file{}}) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(load(tone.engine, {path_part("no/such/voice.onnx")}) == TIMBRE_ERR_NOT_FOUND);
  REQUIRE(std::string(timbre_last_error()).find("no/such/voice.onnx") != std::string::npos);
  REQUIRE(load(tone.engine, {path_part("/dev/zero")}) == TIMBRE_ERR_IO);
  REQUIRE(load(tone.engine, {path_part("\xFF.onnx")}) == TIMBRE_ERR_INVALID_ARGUMENT);
  const std::string bytes = "x";
  REQUIRE(load(tone.engine, {memory_part("", bytes)}) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(load(tone.engine, {memory_part("a.onnx", "")}) == TIMBRE_ERR_FORMAT);
  REQUIRE(load(tone.engine, {memory_part("a.json", bytes), memory_part("a.json", bytes)}) ==
          TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a link that leads nowhere is told as such, wherever it stands", "[capi][model]") {
  ToneEngine tone;
  const TemporaryFolder folder;
  const std::string graph = folder.zeros("voice.onnx", 10);
  const std::string config = folder.link("voice.onnx.json", "gone.json");
  CHECK(refusal(tone.engine, graph, TIMBRE_ERR_NOT_FOUND) == config + ": a broken link to gone.json");
  const std::string weights = folder.link("model.safetensors", "../blobs/0a1b");
  CHECK(refusal(tone.engine, folder.path(), TIMBRE_ERR_NOT_FOUND) == weights + ": a broken link to ../blobs/0a1b");
  const std::string circle = folder.link("circle.onnx", "circle.onnx");
  CHECK_THAT(refusal(tone.engine, circle, TIMBRE_ERR_IO), Catch::StartsWith(circle + ": "));
}

TEST_CASE("a graph without configuration is refused before it is read", "[capi][model]") {
  ToneEngine tone;
  const TemporaryFolder folder;
  const std::string graph = folder.zeros("huge.onnx", std::uint64_t{9} << 30U);
  CHECK(refusal(tone.engine, graph, TIMBRE_ERR_NOT_FOUND) ==
        graph + ": its configuration " + graph + ".json is missing");
  const std::string config = folder.zeros("huge.onnx.json", std::uint64_t{9} << 30U);
  CHECK_THAT(refusal(tone.engine, graph, TIMBRE_ERR_FORMAT), Catch::StartsWith(config + ": "));
  folder.zeros("huge.onnx.json", 10);
  CHECK_THAT(refusal(tone.engine, graph, TIMBRE_ERR_FORMAT), Catch::StartsWith(graph + ": "));
}

TEST_CASE("what is no graph is told before its configuration is missed", "[capi][model]") {
  ToneEngine tone;
  const TemporaryFolder folder;
  const std::string text = folder.write("text.onnx", "hello, I am a text\n");
  CHECK(refusal(tone.engine, text, TIMBRE_ERR_FORMAT) == text + ": this is a text file, not an ONNX file");
  folder.write("text.onnx.json", "{}");
  CHECK(refusal(tone.engine, text, TIMBRE_ERR_FORMAT) == text + ": this is a text file, not an ONNX file");
  const std::string page = folder.write("page.onnx", "<!DOCTYPE html><html>");
  CHECK(refusal(tone.engine, page, TIMBRE_ERR_FORMAT) == page + ": this is an HTML or XML page, not an ONNX file");
  CHECK(load(tone.engine, {memory_part("a.onnx", "hello")}) == TIMBRE_ERR_FORMAT);
  CHECK(std::string(timbre_last_error()) == "a.onnx (in memory): this is a text file, not an ONNX file");
  CHECK(load(tone.engine, {memory_part("a.safetensors", "hello")}) == TIMBRE_ERR_FORMAT);
  CHECK(std::string(timbre_last_error()) == "a.safetensors (in memory): this is a text file, not a safetensors file");
}

TEST_CASE("a load can be cancelled from its progress callback", "[capi][model]") {
  ToneEngine tone;
  timbre_model_options options;
  timbre_model_options_init(&options, sizeof options);
  options.progress = [](void*, float, const char*) -> std::int32_t { return 1; };
  timbre_model_file file{};
  file.struct_size = sizeof file;
  file.name = "tone:";
  timbre_model* model = nullptr;
  REQUIRE(timbre_model_load(tone.engine, &file, 1, sizeof file, &options, &model) == TIMBRE_ERR_CANCELLED);
  REQUIRE(model == nullptr);
}
