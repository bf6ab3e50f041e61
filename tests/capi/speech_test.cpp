// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers
using namespace std::chrono_literals;

namespace {

const std::vector<std::int32_t> kIds = {1, 0, 4, 0, 9, 0, 12, 0, 7, 0, 2};

std::string long_text(std::size_t sentences) {
  std::string text;
  for (std::size_t i = 0; i < sentences; ++i) text += "a long sentence that goes on and on for a while. ";
  return text;
}

/// A reader that asks again and again would share the core with the worker that it waits for.
void leave_the_core() { std::this_thread::sleep_for(200us); }

}  // namespace

TEST_CASE("the samples do not depend on the reader's capacity or the ring", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = text_request("one sentence. and another one!");
  request.seed = 7;
  const std::vector<float> expected = speak(tone.model, request, 1 << 20);
  REQUIRE(expected.size() > 10'000);
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, expected.size()}) {
    for (const std::uint64_t ring : {std::uint64_t{1}, std::uint64_t{5000}, TIMBRE_AUTO_U64}) {
      request.ring_samples = ring;
      REQUIRE(speak(tone.model, request, capacity) == expected);
    }
  }
}

TEST_CASE("the same seed gives the same samples, another seed others, and the seed used is told", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = ids_request(kIds);
  request.noise_w = 0;
  request.seed = 0;
  const std::vector<float> zero = speak(tone.model, request);
  REQUIRE(speak(tone.model, request) == zero);
  request.seed = 1;
  REQUIRE(speak(tone.model, request) != zero);
  request.flags = TIMBRE_SPEECH_RANDOM_SEED;
  timbre_speech* speech = open(tone.model, request);
  timbre_status status = TIMBRE_OK;
  const std::vector<float> random = read_all(speech, 4096, status);
  request.flags = 0;
  request.seed = info(speech).seed;
  timbre_speech_close(speech);
  REQUIRE(speak(tone.model, request) == random);
}

TEST_CASE("explicit zero scales are honoured", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = ids_request(kIds);
  request.noise_scale = 0;
  request.noise_w = 0;
  request.seed = 1;
  const std::vector<float> silent_noise = speak(tone.model, request);
  request.seed = 2;
  REQUIRE(speak(tone.model, request) == silent_noise);
  request.noise_scale = TIMBRE_AUTO_F32;
  REQUIRE(speak(tone.model, request) != silent_noise);
}

TEST_CASE("forced durations decide every token's length", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = ids_request(kIds);
  std::vector<std::int32_t> durations(kIds.size(), 2);
  durations[3] = 0;
  durations[5] = 9;
  request.durations = durations.data();
  request.duration_count = durations.size();
  timbre_speech* speech = open(tone.model, request);
  timbre_status status = TIMBRE_OK;
  const std::vector<float> samples = read_all(speech, 4096, status);
  REQUIRE(samples.size() == (2 * (kIds.size() - 2) + 9) * 256);
  std::vector<timbre_mark> marks(32);
  std::uint64_t count = 0;
  REQUIRE(timbre_speech_marks(speech, 0, sizeof(timbre_mark), marks.data(), marks.size(), &count) == TIMBRE_OK);
  REQUIRE(count == kIds.size());
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(marks[i].token == kIds[i]);
    REQUIRE(marks[i].first_sample == at);
    REQUIRE(marks[i].sample_count == static_cast<std::uint64_t>(durations[i]) * 256);
    at += marks[i].sample_count;
  }
  REQUIRE(timbre_speech_marks(speech, count, sizeof(timbre_mark), marks.data(), marks.size(), &count) == TIMBRE_DONE);

  std::vector<timbre_chunk> chunks(32);
  REQUIRE(timbre_speech_chunks(speech, 0, sizeof(timbre_chunk), chunks.data(), chunks.size(), &count) == TIMBRE_OK);
  at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(chunks[i].first_sample == at);
    at += chunks[i].sample_count;
  }
  REQUIRE(at == samples.size());
  REQUIRE(timbre_speech_chunks(speech, count, sizeof(timbre_chunk), chunks.data(), chunks.size(), &count) ==
          TIMBRE_DONE);
  REQUIRE(count == 0);
  REQUIRE(timbre_speech_chunks(speech, 0, 2, chunks.data(), 1, &count) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_speech_chunks(speech, 0, sizeof(timbre_chunk), nullptr, 1, &count) == TIMBRE_ERR_INVALID_ARGUMENT);
  timbre_speech_close(speech);
}

TEST_CASE("durations that do not fit the ids are refused", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = ids_request(kIds);
  std::vector<std::int32_t> durations(kIds.size() - 1, 1);
  request.durations = durations.data();
  request.duration_count = durations.size();
  timbre_speech* speech = nullptr;
  REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
  durations.assign(kIds.size(), -1);
  request.durations = durations.data();
  request.duration_count = durations.size();
  REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(speech == nullptr);
}

TEST_CASE("token ids out of range are refused before anything runs", "[capi][speech]") {
  ToneEngine tone;
  const auto count = static_cast<std::int32_t>(info(tone.model).token_count);
  for (const std::int32_t id : {-1, count, count + 1, std::numeric_limits<std::int32_t>::max(), TIMBRE_AUTO}) {
    const std::vector<std::int32_t> ids = {1, 0, id, 0, 2};
    const timbre_speech_request request = ids_request(ids);
    timbre_speech* speech = nullptr;
    REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_TOKEN);
    REQUIRE(std::string(timbre_last_error()).find("index 2") != std::string::npos);
  }
}

TEST_CASE("scales that are negative, infinite or not numbers are refused", "[capi][speech]") {
  ToneEngine tone;
  const float infinity = std::numeric_limits<float>::infinity();
  float timbre_speech_request::*const scales[] = {&timbre_speech_request::noise_scale,
                                                  &timbre_speech_request::length_scale, &timbre_speech_request::noise_w,
                                                  &timbre_speech_request::gain};
  for (const auto scale : scales) {
    for (const float wrong : {-1.0F, infinity, -infinity, std::nanf("")}) {
      timbre_speech_request request = ids_request(kIds);
      request.*scale = wrong;
      timbre_speech* speech = nullptr;
      REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
    }
  }
  timbre_speech_request request = ids_request(kIds);
  request.length_scale = 0;
  timbre_speech* speech = nullptr;
  REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a text without words is empty audio with a reason", "[capi][speech]") {
  ToneEngine tone;
  const std::pair<const char*, std::int32_t> cases[] = {
      {"", TIMBRE_EMPTY_TEXT}, {" \n\t ", TIMBRE_EMPTY_TEXT}, {"\xF0\x9F\x98\x80", TIMBRE_EMPTY_NO_SYMBOL}};
  for (const auto& [text, reason] : cases) {
    CAPTURE(text);
    timbre_speech* speech = open(tone.model, text_request(text));
    timbre_status status = TIMBRE_OK;
    REQUIRE(read_all(speech, 64, status).empty());
    REQUIRE(status == TIMBRE_DONE);
    REQUIRE(info(speech).empty_reason == reason);
    REQUIRE(info(speech).samples_total == 0);
    timbre_speech_close(speech);
  }
  timbre_speech_request request = text_request("x");
  request.text = nullptr;
  request.text_bytes = 0;
  timbre_speech* speech = nullptr;
  REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_speech_open(tone.model, nullptr, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("unknown symbols are counted, or an error where the request says so", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = text_request(
      "a\xC3\x9F"
      "b \xE4\xB8\xAD c.");
  timbre_speech* speech = open(tone.model, request);
  timbre_status status = TIMBRE_OK;
  REQUIRE(!read_all(speech, 4096, status).empty());
  REQUIRE(info(speech).skipped_symbols >= 1);
  timbre_speech_close(speech);
  request.unknown_symbols = TIMBRE_UNKNOWN_ERROR;
  speech = open(tone.model, request);
  read_all(speech, 4096, status);
  REQUIRE(status == TIMBRE_ERR_INVALID_TOKEN);
  timbre_speech_close(speech);
}

TEST_CASE("gain scales and limits, silence separates sentences", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = text_request("one. two.");
  request.noise_scale = 0;
  request.noise_w = 0;
  const std::vector<float> plain = speak(tone.model, request);
  request.gain = 100;
  for (const float sample : speak(tone.model, request)) REQUIRE(std::abs(sample) <= 1.0F);
  request.gain = 1;
  request.sentence_silence_ms = 100;
  REQUIRE(speak(tone.model, request).size() == plain.size() + 2205);
}

TEST_CASE("another output rate gives the same sound in proportion", "[capi][speech]") {
  ToneEngine tone;
  timbre_speech_request request = text_request("a sentence to be heard at forty-eight kilohertz.");
  const std::vector<float> native = speak(tone.model, request);
  request.output_sample_rate_hz = 48'000;
  request.ring_samples = 100;
  const std::vector<float> resampled = speak(tone.model, request, 333);
  const double expected = static_cast<double>(native.size()) * 48'000 / 22'050;
  REQUIRE(std::abs(static_cast<double>(resampled.size()) - expected) < 4);
  REQUIRE(speak(tone.model, request, 1 << 16) == resampled);
  for (const std::uint32_t rate : {0U, 1000U, 192'001U}) {
    request.output_sample_rate_hz = rate;
    timbre_speech* speech = nullptr;
    REQUIRE(timbre_speech_open(tone.model, &request, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
  }
}

TEST_CASE("cancel ends a waiting reader at once and stays", "[capi][speech]") {
  ToneEngine tone;
  const std::string text = long_text(5000);
  timbre_speech_request request = text_request(text);
  timbre_speech* speech = open(tone.model, request);
  timbre_status cancelled = TIMBRE_PENDING;
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    cancelled = timbre_speech_cancel(speech);  // checked below: Catch is for one thread
  });
  timbre_status status = TIMBRE_OK;
  read_all(speech, 256, status);
  other.join();
  REQUIRE(cancelled == TIMBRE_OK);
  REQUIRE(status == TIMBRE_ERR_CANCELLED);
  float sample = 0;
  std::uint64_t count = 0;
  REQUIRE(timbre_speech_read(speech, &sample, 1, &count) == TIMBRE_ERR_CANCELLED);
  REQUIRE(timbre_speech_cancel(speech) == TIMBRE_OK);
  REQUIRE(info(speech).state == TIMBRE_ERR_CANCELLED);
  timbre_speech_close(speech);
}

TEST_CASE("a parked utterance holds no worker: eight are read in reverse order, one never", "[capi][speech]") {
  ToneEngine tone;
  const std::string text = long_text(3);
  timbre_speech_request request = text_request(text);
  request.ring_samples = 512;
  const std::vector<float> expected = speak(tone.model, request);
  timbre_speech* never = open(tone.model, request);
  std::vector<timbre_speech*> open_ones;
  for (int i = 0; i < 8; ++i) open_ones.push_back(open(tone.model, request));
  while (!open_ones.empty()) {
    timbre_status status = TIMBRE_OK;
    REQUIRE(read_all(open_ones.back(), 1000, status) == expected);
    REQUIRE(status == TIMBRE_DONE);
    timbre_speech_close(open_ones.back());
    open_ones.pop_back();
  }
  timbre_speech_close(never);
}

TEST_CASE("a deadline that passes loses nothing", "[capi][speech]") {
  ToneEngine tone;
  const std::string text = long_text(20);
  timbre_speech_request request = text_request(text);
  const std::vector<float> expected = speak(tone.model, request, 1 << 16);
  request.read_timeout_ms = 0;
  timbre_speech* speech = open(tone.model, request);
  std::vector<float> samples;
  std::vector<float> piece(1 << 16);
  std::uint64_t count = 0;
  timbre_status status = TIMBRE_OK;
  int timeouts = 0;
  while ((status = timbre_speech_read(speech, piece.data(), piece.size(), &count)) != TIMBRE_DONE) {
    REQUIRE((status == TIMBRE_OK || status == TIMBRE_ERR_TIMEOUT));
    if (status == TIMBRE_ERR_TIMEOUT) {
      ++timeouts;
      leave_the_core();
    }
    samples.insert(samples.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  REQUIRE(timeouts > 0);
  REQUIRE(samples == expected);
  timbre_speech_close(speech);
}

TEST_CASE("try_read never waits", "[capi][speech]") {
  ToneEngine tone;
  const std::string text = long_text(10);
  timbre_speech* speech = open(tone.model, text_request(text));
  std::vector<float> piece(4096);
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  bool pending = false;
  timbre_status status = TIMBRE_OK;
  while ((status = timbre_speech_try_read(speech, piece.data(), piece.size(), &count)) != TIMBRE_DONE) {
    REQUIRE((status == TIMBRE_OK || status == TIMBRE_PENDING));
    REQUIRE((status == TIMBRE_OK) == (count > 0));
    if (status == TIMBRE_PENDING) {
      pending = true;
      leave_the_core();
    }
    total += count;
  }
  REQUIRE(pending);
  REQUIRE(info(speech).samples_total == total);
  timbre_speech_close(speech);
}

TEST_CASE("several callers at once get their serial results", "[capi][speech]") {
  ToneEngine tone;
  std::vector<std::vector<float>> expected;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    timbre_speech_request request = text_request("the same text for everybody. and a second sentence.");
    request.seed = seed;
    expected.push_back(speak(tone.model, request));
  }
  std::atomic<int> equal{0};
  std::vector<std::thread> callers;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    callers.emplace_back([&, seed] {
      const std::string text = "the same text for everybody. and a second sentence.";
      for (int round = 0; round < 5; ++round) {
        timbre_speech_request request;
        timbre_speech_request_init(&request, sizeof request);
        request.text = text.c_str();
        request.text_bytes = text.size();
        request.seed = seed;
        request.ring_samples = 3000;
        timbre_speech* speech = nullptr;
        timbre_speech_open(tone.model, &request, &speech);
        std::vector<float> samples;
        std::vector<float> piece(777);
        std::uint64_t count = 0;
        while (timbre_speech_read(speech, piece.data(), piece.size(), &count) == TIMBRE_OK) {
          samples.insert(samples.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
        }
        timbre_speech_close(speech);
        equal += samples == expected[seed] ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  REQUIRE(equal == 40);
}
