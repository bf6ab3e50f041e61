// SPDX-License-Identifier: MIT
//
// Bad input in one process that survives it: damaged and hostile model files, wrong configurations, wrong requests.
// Each case gives an error with a message that names the part, or a model whose audio is finite. The models are the
// tiny ones of tests/data/golden; run under ASan and UBSan this is the proof that nothing is read out of bounds.
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers

namespace {

const std::string kGolden = TIMBRE_GOLDEN_DIR;
const std::vector<std::int32_t> kIds = {1, 0, 5, 0, 6, 0, 7, 0, 2};

std::string read_file(const std::string& name) {
  std::ifstream file(kGolden + "/" + name, std::ios::binary);
  REQUIRE(file.good());
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

struct Part {
  std::string name;
  std::string bytes;
};

class Bench {
 public:
  Bench() { REQUIRE(timbre_engine_create(nullptr, &engine_) == TIMBRE_OK); }
  ~Bench() { timbre_engine_destroy(engine_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Loads parts and, if that works, speaks a few ids: the audio must be finite. @return the status of the load.
  timbre_status load(const std::vector<Part>& parts) {
    ++cases_;
    std::vector<timbre_model_file> files;
    for (const Part& part : parts) {
      timbre_model_file file{};
      file.struct_size = sizeof file;
      file.name = part.name.c_str();
      file.data = part.bytes.data();
      file.size_bytes = part.bytes.size();
      files.push_back(file);
    }
    timbre_model_options options;
    timbre_model_options_init(&options, sizeof options);
    options.warm_up = 0;
    timbre_model* model = nullptr;
    const timbre_status status =
        timbre_model_load(engine_, files.data(), files.size(), sizeof(timbre_model_file), &options, &model);
    if (status == TIMBRE_OK) {
      speak_finite(model);
      timbre_model_release(model);
    } else {
      REQUIRE(status < 0);
      REQUIRE(status != TIMBRE_ERR_INTERNAL);
      REQUIRE(!std::string(timbre_last_error()).empty());
    }
    return status;
  }

  /// As load, but it must fail and the message must contain `mention`.
  void refuse(const std::vector<Part>& parts, const std::string& mention) {
    const timbre_status status = load(parts);
    const std::string message = status == TIMBRE_OK ? "(loaded)" : timbre_last_error();
    INFO(message);
    CHECK(status < 0);
    CHECK(message.find(mention) != std::string::npos);
  }

  [[nodiscard]] int cases() const { return cases_; }

 private:
  static void speak_finite(timbre_model* model) {
    const timbre_model_details details = info(model);
    timbre_speech_request request = ids_request(kIds);
    if (details.speaker_count > 1) request.speaker = 0;
    timbre_speech* speech = nullptr;
    if (timbre_speech_open(model, &request, &speech) != TIMBRE_OK) return;
    float samples[1024];
    std::uint64_t count = 0;
    std::uint64_t total = 0;
    while (total < 500'000 && timbre_speech_read(speech, samples, 1024, &count) == TIMBRE_OK) {
      for (std::uint64_t i = 0; i < count; ++i) REQUIRE(std::isfinite(samples[i]));
      total += count;
    }
    timbre_speech_close(speech);
  }

  timbre_engine* engine_ = nullptr;
  int cases_ = 0;
};

std::string protobuf(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

std::string safetensors(std::string header, const std::string& data) {
  std::string out(8, '\0');
  for (unsigned i = 0; i < 8; ++i)
    out[i] = static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 0xFFU);
  return out + header + data;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  INFO(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("damaged and hostile model files are refused or harmless", "[capi][bad-input]") {
  Bench bench;
  const std::string graph = read_file("piper_multi.onnx");
  const std::string config = read_file("piper_multi.onnx.json");
  const auto piper = [&](const std::string& onnx) {
    return std::vector<Part>{{"m.onnx", onnx}, {"m.onnx.json", config}};
  };
  REQUIRE(bench.load(piper(graph)) == TIMBRE_OK);

  // Something else under the name of a graph.
  bench.refuse(piper("<!DOCTYPE html><html><body>404</body></html>"), "m.onnx");
  bench.refuse(piper("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 63201294\n"), "m.onnx");
  bench.refuse(piper(std::string(4096, '\0')), "m.onnx");
  bench.refuse(piper(std::string(4096, '\xFF')), "m.onnx");
  bench.refuse(piper("{}"), "m.onnx");
  bench.refuse(piper(protobuf({0x3A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})), "m.onnx");  // graph of 4 GiB
  bench.refuse(piper(protobuf({0x3A, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01})),
               "m.onnx");                                             // of 2^63
  bench.refuse(piper(protobuf({0x08, 0x08, 0x3A, 0x00})), "m.onnx");  // no nodes
  for (const char* name : {"int8_dynamic", "int8_weights", "more_inputs", "istft_tail", "unrelated"}) {
    bench.refuse(piper(read_file("refused/" + std::string(name) + ".onnx")), "m.onnx");
  }

  // Cut anywhere: the container is broken.
  for (int tenth = 0; tenth < 10; ++tenth) {
    const std::size_t size = std::max<std::size_t>(1, graph.size() * static_cast<std::size_t>(tenth) / 10);
    bench.refuse(piper(graph.substr(0, size)), "m.onnx");
  }

  // Flipped bytes: an error, or finite audio.
  std::uint32_t state = 1;
  for (int round = 0; round < 40; ++round) {
    std::string flipped = graph;
    for (int flips = 0; flips < 8; ++flips) {
      state = state * 1664525U + 1013904223U;
      const std::size_t at = (round % 2 == 0 ? state >> 4U : state >> 18U) % flipped.size();
      flipped[at] = static_cast<char>(flipped[at] ^ static_cast<char>(1U << (state >> 29U)));
    }
    bench.load(piper(flipped));
  }
  CHECK(bench.cases() >= 60);
}

TEST_CASE("external data that is missing, short or elsewhere is refused by name", "[capi][bad-input]") {
  Bench bench;
  const Part graph = {"m.onnx", read_file("piper_multi_external.onnx")};
  const Part config = {"m.onnx.json", read_file("piper_multi_external.onnx.json")};
  const std::string data = read_file("piper_multi_external.onnx.data");
  const std::string name = "piper_multi_external.onnx.data";
  REQUIRE(bench.load({graph, config, {name, data}}) == TIMBRE_OK);
  bench.refuse({graph, config}, name);
  bench.refuse({graph, config, {name, data.substr(0, data.size() / 2)}}, name);
  const std::string outside = replaced(graph.bytes, name, "../../../../../../../../etc/ld");
  bench.refuse({{"m.onnx", outside}, config}, "ld");
}

TEST_CASE("every kind of wrong Piper configuration is told by file and key", "[capi][bad-input]") {
  Bench bench;
  const Part graph = {"m.onnx", read_file("piper_multi.onnx")};
  const std::string good = read_file("piper_multi.onnx.json");
  const auto refuse = [&](const std::string& config, const std::string& mention) {
    bench.refuse({graph, {"m.onnx.json", config}}, mention);
  };
  refuse("<html></html>", "m.onnx.json");
  refuse("[]", "m.onnx.json");
  refuse("null", "m.onnx.json");
  refuse("\"text\"", "m.onnx.json");
  refuse("{", "m.onnx.json");
  refuse("{}", "m.onnx.json");
  refuse(good.substr(0, good.size() / 2), "m.onnx.json");
  refuse(std::string(200'000, '['), "m.onnx.json");
  refuse(good + "\xFF", "m.onnx.json");
  for (const char* rate : {"0", "-1", "\"22050\"", "null", "1e300", "[1]"}) {
    refuse(R"({"audio":{"sample_rate":)" + std::string(rate) +
               R"(},"num_speakers":4,"phoneme_id_map":{"_":[0],"^":[1],"$":[2]}})",
           "sample_rate");
  }
  for (const char* map :
       {"null", "[]", "{\"a\":5}", "{\"a\":[\"x\"]}", "{\"a\":[-1]}", "{\"a\":[1e99]}", "{\"a\":[4294967296]}"}) {
    refuse(R"({"audio":{"sample_rate":16000},"num_speakers":4,"phoneme_id_map":)" + std::string(map) + "}",
           "phoneme_id_map");
  }
  refuse(R"({"audio":{"sample_rate":16000},"num_speakers":5,"phoneme_id_map":{"_":[0],"^":[1],"$":[2]}})",
         "num_speakers");
}

TEST_CASE("wrong safetensors files are told by file", "[capi][bad-input]") {
  Bench bench;
  const std::string good = read_file("piper_multi_high_hf/model.safetensors");
  const std::string config = read_file("piper_multi_high_hf/config.json");
  const auto folder = [&](const std::string& weights, const std::string& settings) {
    return std::vector<Part>{{"config.json", settings},
                             {"model.safetensors", weights},
                             {"vocab.json", read_file("piper_multi_high_hf/vocab.json")},
                             {"tokenizer_config.json", read_file("piper_multi_high_hf/tokenizer_config.json")}};
  };
  REQUIRE(bench.load(folder(good, config)) == TIMBRE_OK);
  const std::string name = "model.safetensors";
  bench.refuse(folder("x", config), name);
  bench.refuse(folder(std::string(8, '\xFF'), config), name);
  bench.refuse(folder("version https://git-lfs.github.com/spec/v1\n", config), name);
  bench.refuse(folder(safetensors("", ""), config), name);
  bench.refuse(folder(safetensors("[]", ""), config), name);
  bench.refuse(folder(safetensors("{\"a\":1}", ""), config), name);
  bench.refuse(folder(safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,400]}})", "abcd"), config),
               name);
  bench.refuse(folder(safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "abcd"), config), name);
  bench.refuse(folder(safetensors(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "abcd"), config), name);
  bench.refuse(folder(safetensors(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd"), config), name);
  bench.refuse(
      folder(safetensors(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "abcd"),
             config),
      name);
  for (int part = 1; part < 8; ++part) {
    bench.refuse(folder(good.substr(0, good.size() * static_cast<std::size_t>(part) / 8), config), name);
  }
  bench.refuse(folder(good, "{}"), "config.json");
  bench.refuse(folder(good, "<html>"), "config.json");
  bench.refuse(folder(good, replaced(config, "\"hidden_size\"", "\"hidden_sizes\"")), "hidden_size");
}

TEST_CASE("texts from empty to a megabyte are spoken or refused in bounded time", "[capi][bad-input]") {
  ToneEngine tone;
  const auto first_chunk = [&](const std::string& text) {
    timbre_speech_request request = text_request(text);
    timbre_speech* speech = open(tone.model, request);
    std::vector<float> samples(4096);
    std::uint64_t count = 0;
    const timbre_status status = timbre_speech_read(speech, samples.data(), samples.size(), &count);
    REQUIRE((status == TIMBRE_OK || status == TIMBRE_DONE));
    REQUIRE(timbre_speech_cancel(speech) == TIMBRE_OK);
    const timbre_speech_details details = info(speech);
    REQUIRE(timbre_speech_close(speech) == TIMBRE_OK);
    return details;
  };
  for (const std::size_t size : {0U, 1U, 2U, 100U, 10'000U, 1'000'000U}) first_chunk(std::string(size, 'a'));
  std::string words;
  while (words.size() < 1'000'000) words += "word ";
  REQUIRE(first_chunk(words).samples_ready < 2'000'000);
  first_chunk(std::string(1'000'000, '.'));
  first_chunk(std::string(1'000'000, ' '));
  first_chunk(std::string("a\0b", 3));
}
