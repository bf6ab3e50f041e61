// SPDX-License-Identifier: MIT
#include <cmath>

#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers

namespace {

const std::vector<std::int32_t> kIds = {1, 0, 4, 0, 9, 0, 12, 0, 7, 0, 2};

/// Puts a vector under an id, bound to a model.
timbre_status put(const ToneEngine& tone, const char* id, const timbre_tensor* tensors, std::uint64_t count,
                  const char* fingerprint, std::uint64_t* version = nullptr) {
  timbre_voice_record record;
  REQUIRE(timbre_voice_record_init(&record, sizeof record) == TIMBRE_OK);
  record.tensors = tensors;
  record.tensor_count = count;
  record.model_fingerprint = fingerprint;
  return timbre_voice_put(tone.engine, id, &record, nullptr, version);
}

std::vector<float> speaker_vector(timbre_model* model, std::int32_t speaker) {
  std::vector<float> vector(info(model).voice_dim);
  std::uint64_t count = 0;
  REQUIRE(timbre_model_speaker_vector(model, speaker, vector.data(), vector.size(), &count) == TIMBRE_OK);
  REQUIRE(count == vector.size());
  return vector;
}

}  // namespace

TEST_CASE("the stored vector of a speaker gives the samples of its index", "[capi][voice]") {
  ToneEngine tone;
  for (std::int32_t speaker = 0; speaker < 4; ++speaker) {
    const std::vector<float> vector = speaker_vector(tone.model, speaker);
    const timbre_tensor g = vector_tensor(vector);
    REQUIRE(put(tone, "npc/guard", &g, 1, info(tone.model).fingerprint) == TIMBRE_OK);
    timbre_speech_request request = ids_request(kIds);
    request.speaker = speaker;
    const std::vector<float> by_index = speak(tone.model, request);
    request.speaker = TIMBRE_AUTO;
    request.voice = "npc/guard";
    REQUIRE(speak(tone.model, request) == by_index);
    request.voice = nullptr;
    request.tensors = &g;
    request.tensor_count = 1;
    REQUIRE(speak(tone.model, request) == by_index);
  }
}

TEST_CASE("a record without tensors names a speaker of its model", "[capi][voice]") {
  ToneEngine tone;
  timbre_voice_record record;
  timbre_voice_record_init(&record, sizeof record);
  record.model_fingerprint = info(tone.model).fingerprint;
  record.speaker = 2;
  record.noise_scale = 0;
  REQUIRE(timbre_voice_put(tone.engine, "alto", &record, nullptr, nullptr) == TIMBRE_OK);
  timbre_speech_request request = ids_request(kIds);
  request.voice = "alto";
  const std::vector<float> by_voice = speak(tone.model, request);
  request.voice = nullptr;
  request.speaker = 2;
  request.noise_scale = 0;
  REQUIRE(speak(tone.model, request) == by_voice);
  record.speaker = 4;
  REQUIRE(timbre_voice_put(tone.engine, "alto", &record, nullptr, nullptr) == TIMBRE_ERR_MISMATCH);
}

TEST_CASE("what does not fit is refused and says why", "[capi][voice]") {
  ToneEngine tone;
  const char* const fingerprint = info(tone.model).fingerprint;
  std::vector<float> vector(16, 0.25F);
  SECTION("wrong size") {
    vector.resize(15);
    const timbre_tensor g = vector_tensor(vector);
    REQUIRE(put(tone, "x", &g, 1, fingerprint) == TIMBRE_ERR_MISMATCH);
    REQUIRE(std::string(timbre_last_error()).find("[15]") != std::string::npos);
  }
  SECTION("not a number") {
    vector[3] = std::nanf("");
    const timbre_tensor g = vector_tensor(vector);
    REQUIRE(put(tone, "x", &g, 1, fingerprint) == TIMBRE_ERR_INVALID_ARGUMENT);
    REQUIRE(std::string(timbre_last_error()).find("element 3") != std::string::npos);
  }
  SECTION("integers") {
    timbre_tensor g = vector_tensor(vector);
    g.dtype = TIMBRE_DTYPE_I32;
    REQUIRE(put(tone, "x", &g, 1, fingerprint) == TIMBRE_ERR_MISMATCH);
  }
  SECTION("unknown dtype, wrong bytes, no data, two of one name") {
    timbre_tensor g = vector_tensor(vector);
    g.dtype = 99;
    REQUIRE(put(tone, "x", &g, 1, fingerprint) == TIMBRE_ERR_INVALID_ARGUMENT);
    g = vector_tensor(vector);
    g.size_bytes -= 1;
    REQUIRE(put(tone, "x", &g, 1, fingerprint) == TIMBRE_ERR_INVALID_ARGUMENT);
    g = vector_tensor(vector);
    g.data = nullptr;
    REQUIRE(put(tone, "x", &g, 1, fingerprint) == TIMBRE_ERR_INVALID_ARGUMENT);
    const timbre_tensor two[2] = {vector_tensor(vector), vector_tensor(vector)};
    REQUIRE(put(tone, "x", two, 2, fingerprint) == TIMBRE_ERR_INVALID_ARGUMENT);
  }
  SECTION("nothing in it, or no fingerprint at all") {
    REQUIRE(put(tone, "x", nullptr, 0, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
    REQUIRE(put(tone, "x", nullptr, 0, "not-hex") == TIMBRE_ERR_INVALID_ARGUMENT);
  }
  SECTION("another model, when it is spoken") {
    const timbre_tensor g = vector_tensor(vector);
    REQUIRE(put(tone, "x", &g, 1, "00000000000000000000000000000000") == TIMBRE_OK);
    timbre_speech_request request = ids_request(kIds);
    request.voice = "x";
    timbre_speech* speech = nullptr;
    REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_MISMATCH);
  }
  SECTION("no model, when it is spoken") {
    const timbre_tensor g = vector_tensor(vector);
    REQUIRE(put(tone, "x", &g, 1, nullptr) == TIMBRE_OK);
    timbre_speech_request request = ids_request(kIds);
    request.voice = "x";
    timbre_speech* speech = nullptr;
    REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_MISMATCH);
  }
  SECTION("an unknown id") {
    timbre_speech_request request = ids_request(kIds);
    request.voice = "nobody";
    timbre_speech* speech = nullptr;
    REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_NOT_FOUND);
    REQUIRE(std::string(timbre_last_error()).find("nobody") != std::string::npos);
  }
}

TEST_CASE("speakers out of range and contradicting choices are refused", "[capi][voice]") {
  ToneEngine tone;
  timbre_speech* speech = nullptr;
  for (const std::int32_t speaker : {-1, 4, 1 << 30}) {
    timbre_speech_request request = ids_request(kIds);
    request.speaker = speaker;
    REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
  }
  timbre_speech_request request = ids_request(kIds);
  request.speaker = 0;
  request.voice = "x";
  REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("an utterance keeps the version of its voice through a re-put and a removal", "[capi][voice]") {
  ToneEngine tone;
  const char* const fingerprint = info(tone.model).fingerprint;
  const std::vector<float> low(16, 0.1F);
  const std::vector<float> high(16, 0.9F);
  const timbre_tensor first = vector_tensor(low);
  const timbre_tensor second = vector_tensor(high);
  std::uint64_t version = 0;
  REQUIRE(put(tone, "v", &first, 1, fingerprint, &version) == TIMBRE_OK);
  std::string text = "a sentence. ";
  for (int i = 0; i < 5; ++i) text += text;
  timbre_speech_request request = text_request(text);
  request.voice = "v";
  request.ring_samples = 1;
  const std::vector<float> expected = speak(tone.model, request);
  timbre_speech* speech = open(tone.model, request);
  std::vector<float> samples(1);
  std::uint64_t count = 0;
  REQUIRE(timbre_speech_read(speech, samples.data(), 1, &count) == TIMBRE_OK);
  std::uint64_t next_version = 0;
  REQUIRE(put(tone, "v", &second, 1, fingerprint, &next_version) == TIMBRE_OK);
  REQUIRE(next_version > version);
  REQUIRE(timbre_voice_remove(tone.engine, "v") == TIMBRE_OK);
  timbre_status status = TIMBRE_OK;
  const std::vector<float> rest = read_all(speech, 999, status);
  samples.insert(samples.end(), rest.begin(), rest.end());
  REQUIRE(samples == expected);
  REQUIRE(info(speech).voice_version == version);
  timbre_speech_close(speech);
}

TEST_CASE("voices are listed in pages and removed", "[capi][voice]") {
  ToneEngine tone;
  const std::vector<float> vector(16, 0.5F);
  const timbre_tensor g = vector_tensor(vector);
  for (const char* id : {"a", "npc/1", "npc/2", "npc/3", "z"}) REQUIRE(put(tone, id, &g, 1, nullptr) == TIMBRE_OK);
  std::string cursor;
  std::vector<std::string> seen;
  char page[13];
  std::uint64_t size = 0;
  std::uint64_t count = 0;
  timbre_status status = TIMBRE_OK;
  while ((status = timbre_voice_list(tone.engine, "npc/", cursor.c_str(), page, sizeof page, &size, &count)) ==
         TIMBRE_OK) {
    const char* at = page;
    for (std::uint64_t i = 0; i < count; ++i) {
      seen.emplace_back(at);
      at += seen.back().size() + 1;
    }
    cursor = seen.back();
  }
  REQUIRE(status == TIMBRE_DONE);
  REQUIRE(seen == std::vector<std::string>{"npc/1", "npc/2", "npc/3"});
  REQUIRE(timbre_voice_list(tone.engine, "npc/", nullptr, page, 3, &size, &count) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(size == 6);
  REQUIRE(timbre_voice_remove(tone.engine, "npc/2") == TIMBRE_OK);
  REQUIRE(timbre_voice_remove(tone.engine, "npc/2") == TIMBRE_ERR_NOT_FOUND);
}

TEST_CASE("ids are 1 to 512 bytes of UTF-8", "[capi][voice]") {
  ToneEngine tone;
  const std::vector<float> vector(16, 0.5F);
  const timbre_tensor g = vector_tensor(vector);
  REQUIRE(put(tone, nullptr, &g, 1, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(put(tone, "", &g, 1, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(put(tone, "\xFF", &g, 1, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(put(tone, std::string(513, 'x').c_str(), &g, 1, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(put(tone, std::string(512, 'x').c_str(), &g, 1, nullptr) == TIMBRE_OK);
}
