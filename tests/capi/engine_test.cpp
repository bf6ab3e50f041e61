// SPDX-License-Identifier: MIT
#include <cfenv>
#include <chrono>
#include <clocale>
#include <cstring>
#include <thread>

#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers
using namespace std::chrono_literals;

TEST_CASE("every status has its name, and an unknown number is told", "[capi][status]") {
  REQUIRE(std::string(timbre_status_name(TIMBRE_OK)) == "TIMBRE_OK");
  REQUIRE(std::string(timbre_status_name(TIMBRE_PENDING)) == "TIMBRE_PENDING");
  for (timbre_status status = TIMBRE_ERR_INTERNAL; status < 0; ++status) {
    REQUIRE(std::strncmp(timbre_status_name(status), "TIMBRE_ERR_", 11) == 0);
  }
  REQUIRE(std::string(timbre_status_name(77)) == "TIMBRE_UNKNOWN_STATUS");
}

TEST_CASE("the version of the library is the header's", "[capi][status]") {
  std::uint32_t major = 99;
  std::uint32_t minor = 99;
  REQUIRE(std::string(timbre_version(&major, &minor, nullptr)) == std::to_string(TIMBRE_VERSION_MAJOR) + "." +
                                                                      std::to_string(TIMBRE_VERSION_MINOR) + "." +
                                                                      std::to_string(TIMBRE_VERSION_PATCH));
  REQUIRE(major == TIMBRE_VERSION_MAJOR);
  REQUIRE(minor == TIMBRE_VERSION_MINOR);
}

TEST_CASE("the last error belongs to its thread and survives a success", "[capi][status]") {
  timbre_engine* engine = nullptr;
  REQUIRE(timbre_engine_create(nullptr, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  const std::string message = timbre_last_error();
  REQUIRE(message.find("out_engine") != std::string::npos);
  REQUIRE(timbre_engine_create(nullptr, &engine) == TIMBRE_OK);
  REQUIRE(timbre_last_error() == message);
  std::string elsewhere = "?";
  std::thread([&] { elsewhere = timbre_last_error(); }).join();
  REQUIRE(elsewhere.empty());
  timbre_engine_destroy(engine);
}

TEST_CASE("an init fills no more bytes than the caller has", "[capi][struct]") {
  const auto check = [](auto init, auto& config) {
    using Struct = std::remove_reference_t<decltype(config)>;
    for (std::uint32_t size = 0; size <= sizeof(Struct) + 16; ++size) {
      std::vector<unsigned char> room(sizeof(Struct) + 32, 0xAB);
      auto* at = reinterpret_cast<Struct*>(room.data());
      const timbre_status status = init(at, size);
      REQUIRE((status == TIMBRE_OK) == (size >= 4));
      const std::size_t written = size < 4 ? 0 : std::min<std::size_t>(size, sizeof(Struct));
      for (std::size_t i = written; i < room.size(); ++i) REQUIRE(room[i] == 0xAB);
    }
    REQUIRE(init(nullptr, sizeof(Struct)) == TIMBRE_ERR_INVALID_ARGUMENT);
  };
  timbre_engine_config config;
  check(timbre_engine_config_init, config);
  timbre_model_options options;
  check(timbre_model_options_init, options);
  timbre_voice_record record;
  check(timbre_voice_record_init, record);
  timbre_voice_put_options put;
  check(timbre_voice_put_options_init, put);
  timbre_speech_request request;
  check(timbre_speech_request_init, request);
}

TEST_CASE("a struct of a later version is read as far as it is known, a shorter one is refused", "[capi][struct]") {
  ToneEngine tone;
  struct Later {
    timbre_speech_request now;
    unsigned char later[64];
  } later;
  std::memset(&later, 0xAB, sizeof later);
  REQUIRE(timbre_speech_request_init(&later.now, sizeof later) == TIMBRE_OK);
  later.now.struct_size = sizeof later;
  later.now.text = "hello";
  later.now.text_bytes = 5;
  REQUIRE(speak(tone.model, later.now) == speak(tone.model, text_request("hello")));
  // What callers of the first version have.
  constexpr auto kFirst = static_cast<std::uint32_t>(offsetof(timbre_speech_request, lease));
  later.now.struct_size = kFirst;
  REQUIRE(speak(tone.model, later.now) == speak(tone.model, text_request("hello")));
  for (const std::uint32_t size : {0U, 4U, kFirst - 1}) {
    later.now.struct_size = size;
    timbre_speech* speech = nullptr;
    REQUIRE(timbre_speech_open(tone.model, &later.now, &speech) == TIMBRE_ERR_INVALID_ARGUMENT);
  }
}

TEST_CASE("an out-struct is written as far as the caller has it", "[capi][struct]") {
  ToneEngine tone;
  std::vector<unsigned char> room(sizeof(timbre_model_details) + 32, 0xAB);
  auto* details = reinterpret_cast<timbre_model_details*>(room.data());
  details->struct_size = sizeof(timbre_model_details);
  REQUIRE(timbre_model_info(tone.model, details) == TIMBRE_OK);
  for (std::size_t i = sizeof(timbre_model_details); i < room.size(); ++i) REQUIRE(room[i] == 0xAB);
  details->struct_size = 8;
  REQUIRE(timbre_model_info(tone.model, details) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("a configuration that cannot be had is refused with the reason", "[capi][engine]") {
  timbre_engine_config config;
  timbre_engine_config_init(&config, sizeof config);
  timbre_engine* engine = nullptr;
  timbre_status expected = TIMBRE_ERR_INVALID_ARGUMENT;
  SECTION("no threads") { config.thread_count = 0; }
  SECTION("too many threads") { config.thread_count = 257; }
  SECTION("unknown device") { config.device = "npu"; }
  SECTION("cuda:x") { config.device = "cuda:x"; }
  SECTION("long thread name") { config.thread_name = "a name of sixteen"; }
  SECTION("nice") { config.thread_nice = 20; }
  SECTION("affinity") { config.thread_affinity = 0; }
  SECTION("precision") { config.precision = 7; }
  SECTION("not UTF-8") { config.store = "\xFF"; }
  SECTION("cuda") {
    config.device = "cuda:0";
    expected = TIMBRE_ERR_NO_DEVICE;
  }
  SECTION("bf16") {
    config.precision = TIMBRE_PRECISION_BF16;
    expected = TIMBRE_ERR_UNSUPPORTED;
  }
  SECTION("store") {
    config.store = "redis://localhost";
    expected = TIMBRE_ERR_UNSUPPORTED;
  }
  SECTION("store without a file") { config.store = "sqlite:"; }
  SECTION("more to preheat than is remembered") { config.preheat_count = 257; }
  REQUIRE(timbre_engine_create(&config, &engine) == expected);
  REQUIRE(engine == nullptr);
  REQUIRE(std::strlen(timbre_last_error()) > 10);
}

TEST_CASE("a fallback from cuda is allowed, told in the log and by the model", "[capi][engine]") {
  timbre_engine_config config;
  timbre_engine_config_init(&config, sizeof config);
  config.device = "cuda";
  config.allow_device_fallback = 1;
  timbre_engine* engine = nullptr;
  REQUIRE(timbre_engine_create(&config, &engine) == TIMBRE_OK);
  char line[64];
  std::int32_t level = -1;
  REQUIRE(timbre_log_next(engine, line, sizeof line, &level) == TIMBRE_OK);
  REQUIRE(level == TIMBRE_LOG_WARNING);
  REQUIRE(std::string(line).find("CUDA") != std::string::npos);
  REQUIRE(timbre_log_next(engine, line, sizeof line, &level) == TIMBRE_DONE);
  timbre_model* model = ToneEngine::load(engine);
  REQUIRE(std::string(info(model).device) == "cpu");
  timbre_model_release(model);
  timbre_engine_destroy(engine);
}

TEST_CASE("handles outlive their engine and answer CLOSED", "[capi][lifetime]") {
  timbre_engine* engine = nullptr;
  REQUIRE(timbre_engine_create(nullptr, &engine) == TIMBRE_OK);
  timbre_model* model = ToneEngine::load(engine);
  timbre_speech* speech = open(model, text_request("a sentence. "));
  REQUIRE(timbre_engine_destroy(engine) == TIMBRE_OK);
  timbre_model_details details{};
  details.struct_size = sizeof details;
  REQUIRE(timbre_model_info(model, &details) == TIMBRE_ERR_CLOSED);
  float sample = 0;
  std::uint64_t count = 0;
  REQUIRE(timbre_speech_read(speech, &sample, 1, &count) == TIMBRE_ERR_CLOSED);
  REQUIRE(timbre_speech_try_read(speech, &sample, 1, &count) == TIMBRE_ERR_CLOSED);
  REQUIRE(timbre_speech_cancel(speech) == TIMBRE_ERR_CLOSED);
  const timbre_speech_request request = text_request("x");
  timbre_speech* second = nullptr;
  REQUIRE(timbre_speech_open(model, &request, &second) == TIMBRE_ERR_CLOSED);
  REQUIRE(timbre_speech_close(speech) == TIMBRE_OK);
  REQUIRE(timbre_model_release(model) == TIMBRE_OK);
}

TEST_CASE("destroying an engine wakes its readers with CANCELLED", "[capi][lifetime]") {
  for (int round = 0; round < 20; ++round) {
    timbre_engine* engine = nullptr;
    REQUIRE(timbre_engine_create(nullptr, &engine) == TIMBRE_OK);
    timbre_model* model = ToneEngine::load(engine);
    std::string text = "a sentence that is said again. ";
    for (int i = 0; i < 12; ++i) text += text;
    timbre_speech* speech = open(model, text_request(text));
    timbre_status status = TIMBRE_OK;
    std::thread reader([&] {
      float samples[64];
      std::uint64_t count = 0;
      while ((status = timbre_speech_read(speech, samples, 64, &count)) == TIMBRE_OK) {
      }
    });
    std::this_thread::sleep_for(2ms);
    REQUIRE(timbre_engine_destroy(engine) == TIMBRE_OK);
    reader.join();
    REQUIRE((status == TIMBRE_ERR_CANCELLED || status == TIMBRE_ERR_CLOSED));
    timbre_speech_close(speech);
    timbre_model_release(model);
  }
}

TEST_CASE("a model's utterances outlive its handle", "[capi][lifetime]") {
  ToneEngine tone;
  const std::vector<float> expected = speak(tone.model, text_request("hello there."));
  timbre_model* second = ToneEngine::load(tone.engine);
  timbre_speech* speech = open(second, text_request("hello there."));
  timbre_model_release(second);
  timbre_status status = TIMBRE_OK;
  REQUIRE(read_all(speech, 100, status) == expected);
  REQUIRE(status == TIMBRE_DONE);
  timbre_speech_close(speech);
}

TEST_CASE("NULL handles are an error, or nothing where something is given back", "[capi][lifetime]") {
  float sample = 0;
  std::uint64_t count = 0;
  REQUIRE(timbre_speech_read(nullptr, &sample, 1, &count) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_speech_cancel(nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_model_info(nullptr, nullptr) == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_voice_remove(nullptr, "x") == TIMBRE_ERR_INVALID_ARGUMENT);
  REQUIRE(timbre_engine_destroy(nullptr) == TIMBRE_OK);
  REQUIRE(timbre_model_release(nullptr) == TIMBRE_OK);
  REQUIRE(timbre_speech_close(nullptr) == TIMBRE_OK);
}

TEST_CASE("a host's floating-point state does not reach the samples, nor is it changed", "[capi][guest]") {
  ToneEngine tone;
  const std::vector<float> expected = speak(tone.model, text_request("rounding matters."));
  std::fesetround(FE_UPWARD);
  ToneEngine other;
  const std::vector<float> samples = speak(other.model, text_request("rounding matters."));
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  REQUIRE(rounding == FE_UPWARD);
  REQUIRE(samples == expected);
}
