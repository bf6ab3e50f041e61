// SPDX-License-Identifier: MIT
//
// What the tests of the C API share: an engine with the tone model, and reading an utterance to its end.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/timbre.h"

namespace timbre::test {

/// An engine and its tone model, given back at the end.
class ToneEngine {
 public:
  explicit ToneEngine(std::uint32_t threads = 1) {
    timbre_engine_config config;
    REQUIRE(timbre_engine_config_init(&config, sizeof config) == TIMBRE_OK);
    config.thread_count = threads;
    REQUIRE(timbre_engine_create(&config, &engine) == TIMBRE_OK);
    model = load(engine);
  }
  ~ToneEngine() {
    timbre_model_release(model);
    timbre_engine_destroy(engine);
  }
  ToneEngine(const ToneEngine&) = delete;
  ToneEngine& operator=(const ToneEngine&) = delete;

  static timbre_model* load(timbre_engine* engine) {
    timbre_model_file file{};
    file.struct_size = sizeof file;
    file.name = "tone:";
    timbre_model* loaded = nullptr;
    INFO(timbre_last_error());
    REQUIRE(timbre_model_load(engine, &file, 1, sizeof file, nullptr, &loaded) == TIMBRE_OK);
    return loaded;
  }

  timbre_engine* engine = nullptr;
  timbre_model* model = nullptr;
};

/// A request for a text, which must outlive it.
inline timbre_speech_request text_request(std::string_view text) {
  timbre_speech_request request;
  REQUIRE(timbre_speech_request_init(&request, sizeof request) == TIMBRE_OK);
  request.text = text.data();
  request.text_bytes = text.size();
  return request;
}

/// A request for token ids, which must outlive it.
inline timbre_speech_request ids_request(const std::vector<std::int32_t>& ids) {
  timbre_speech_request request;
  REQUIRE(timbre_speech_request_init(&request, sizeof request) == TIMBRE_OK);
  request.input_kind = TIMBRE_INPUT_IDS;
  request.ids = ids.data();
  request.id_count = ids.size();
  return request;
}

inline timbre_speech* open(timbre_model* model, const timbre_speech_request& request) {
  timbre_speech* speech = nullptr;
  const timbre_status status = timbre_speech_open(model, &request, &speech);
  INFO(timbre_last_error());
  REQUIRE(status == TIMBRE_OK);
  return speech;
}

/// Reads to the end; `status` is what ended it.
inline std::vector<float> read_all(timbre_speech* speech, std::size_t capacity, timbre_status& status) {
  std::vector<float> samples;
  std::vector<float> piece(capacity);
  std::uint64_t count = 0;
  while ((status = timbre_speech_read(speech, piece.data(), piece.size(), &count)) == TIMBRE_OK) {
    REQUIRE(count >= 1);
    REQUIRE(count <= capacity);
    samples.insert(samples.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  REQUIRE(count == 0);
  return samples;
}

/// Speaks a request to its end, which must be DONE.
inline std::vector<float> speak(timbre_model* model, const timbre_speech_request& request,
                                std::size_t capacity = 4096) {
  timbre_speech* speech = open(model, request);
  timbre_status status = TIMBRE_OK;
  std::vector<float> samples = read_all(speech, capacity, status);
  INFO(timbre_last_error());
  REQUIRE(status == TIMBRE_DONE);
  REQUIRE(timbre_speech_close(speech) == TIMBRE_OK);
  return samples;
}

/// A tensor "g" of floats.
inline timbre_tensor vector_tensor(const std::vector<float>& values) {
  timbre_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = TIMBRE_DTYPE_F32;
  tensor.name = "g";
  tensor.data = values.data();
  tensor.size_bytes = values.size() * sizeof(float);
  tensor.rank = 1;
  tensor.shape[0] = static_cast<std::int64_t>(values.size());
  return tensor;
}

inline timbre_model_details info(timbre_model* model) {
  timbre_model_details details{};
  details.struct_size = sizeof details;
  REQUIRE(timbre_model_info(model, &details) == TIMBRE_OK);
  return details;
}

inline timbre_speech_details info(timbre_speech* speech) {
  timbre_speech_details details{};
  details.struct_size = sizeof details;
  REQUIRE(timbre_speech_info(speech, &details) == TIMBRE_OK);
  return details;
}

}  // namespace timbre::test
