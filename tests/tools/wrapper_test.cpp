// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "status_of.hpp"
#include "timbre/core/result.hpp"  // both define names in timbre; a host may include both
#include "timbre/timbre.hpp"

using timbre::test::status_of;

namespace {

timbre::Engine one_thread() {
  timbre::EngineConfig config;
  config.thread_count = 1;
  return timbre::Engine(config);
}

}  // namespace

static_assert(std::is_nothrow_move_constructible_v<timbre::Speech> && !std::is_copy_constructible_v<timbre::Speech>);
static_assert(std::is_nothrow_move_assignable_v<timbre::Model> && !std::is_copy_assignable_v<timbre::Engine>);

TEST_CASE("the wrapper speaks a text and knows what it said", "[wrapper]") {
  const timbre::Engine engine = one_thread();
  const timbre::Model model = engine.load("tone:");
  timbre::Speech speech = model.speak(timbre::Request("who is there?"));
  const std::vector<float> audio = speech.read_all();
  CHECK(audio.size() > 1000);
  CHECK(speech.info().samples_total == audio.size());
  CHECK(speech.timeline().total_us != TIMBRE_AUTO_U64);
  std::uint64_t marked = 0;
  for (const timbre_mark& mark : speech.marks()) marked += mark.sample_count;
  CHECK(marked == audio.size());
  CHECK(speech.marks(3).size() + 3 == speech.marks().size());
  std::uint64_t chunked = 0;
  for (const timbre_chunk& chunk : speech.chunks()) chunked += chunk.sample_count;
  CHECK(chunked == audio.size());

  const std::vector<std::int32_t> ids = model.tokenize("who is there?").ids();
  CHECK(model.speak(timbre::Request(ids)).read_all() == audio);
}

TEST_CASE("try_read tells starved, samples and the end apart", "[wrapper]") {
  const timbre::Engine engine = one_thread();
  const timbre::Model model = engine.load("tone:");
  timbre::Speech speech = model.speak(timbre::Request("abc"));
  std::vector<float> audio;
  std::vector<float> chunk(100);
  while (true) {
    const std::optional<std::size_t> count = speech.try_read(chunk);
    if (!count) continue;
    if (*count == 0) break;
    audio.insert(audio.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(*count));
  }
  CHECK(audio == model.speak(timbre::Request("abc")).read_all());
}

TEST_CASE("a vector put as a voice speaks like its speaker", "[wrapper]") {
  const timbre::Engine engine = one_thread();
  const timbre::Model model = engine.load("tone:");
  REQUIRE(model.info().voice_dim == 16);
  const std::vector<float> g = model.speaker_vector(2);
  const timbre::Tensor tensor("g", g);
  const std::span<const timbre::Tensor> tensors(&tensor, 1);
  CHECK(engine.voices().put("npc/guard", timbre::VoiceRecord(tensors, model.info().fingerprint)) > 0);

  timbre::Request by_index("halt!");
  by_index.speaker = 2;
  const std::vector<float> expected = model.speak(by_index).read_all();
  timbre::Request by_id("halt!");
  by_id.voice = "npc/guard";
  CHECK(model.speak(by_id).read_all() == expected);
  timbre::Request inline_voice("halt!");
  CHECK(model.speak(inline_voice.set_tensors(tensors)).read_all() == expected);

  timbre::PutOptions options;
  options.ephemeral = 1;
  engine.voices().put("npc/other", timbre::VoiceRecord(tensors), options);
  CHECK(engine.voices().list("npc/") == std::vector<std::string>{"npc/guard", "npc/other"});
  engine.voices().remove("npc/guard");
  CHECK(engine.voices().list() == std::vector<std::string>{"npc/other"});
  CHECK(model.speaker_name(2) != model.speaker_name(1));
}

TEST_CASE("failures are exceptions with the library's status", "[wrapper]") {
  const timbre::Engine engine = one_thread();
  const timbre::Model model = engine.load("tone:");
  CHECK(status_of([&] { engine.voices().remove("nobody"); }) == TIMBRE_ERR_NOT_FOUND);
  CHECK(status_of([&] { engine.voices().remove(std::string("a\0b", 3)); }) == TIMBRE_ERR_INVALID_ARGUMENT);
  CHECK(status_of([&] { (void)engine.load("absent.onnx"); }) == TIMBRE_ERR_NOT_FOUND);
  CHECK(status_of([&] { (void)model.speaker_vector(99); }) == TIMBRE_ERR_INVALID_ARGUMENT);
  const std::vector<std::int32_t> ids{1, 1 << 30, 2};
  CHECK(status_of([&] { (void)model.speak(timbre::Request(ids)); }) == TIMBRE_ERR_INVALID_TOKEN);
  const std::vector<std::int32_t> good{1, 5, 2};
  const std::vector<std::int32_t> one{1};
  timbre::Request request(good);
  CHECK(status_of([&] { (void)model.speak(request.set_durations(one)); }) == TIMBRE_ERR_INVALID_ARGUMENT);
}

TEST_CASE("handles move, and an engine that ends closes what it made", "[wrapper]") {
  auto engine = std::make_unique<timbre::Engine>(one_thread());
  timbre::Model model = engine->load("tone:");
  timbre::Model moved = std::move(model);
  model = engine->load("tone:");
  model = std::move(moved);
  timbre::Speech speech = model.speak(timbre::Request("abc"));
  engine.reset();
  CHECK(status_of([&] { (void)model.speak(timbre::Request("abc")); }) == TIMBRE_ERR_CLOSED);
  const timbre_status status = status_of([&] { (void)speech.read_all(); });
  CHECK((status == TIMBRE_ERR_CANCELLED || status == TIMBRE_ERR_CLOSED));
}

TEST_CASE("progress can cancel a load, also by an exception", "[wrapper]") {
  const timbre::Engine engine = one_thread();
  timbre::LoadOptions options;
  options.progress = [](float, const char*) { return false; };
  CHECK(status_of([&] { (void)engine.load("tone:", options); }) == TIMBRE_ERR_CANCELLED);
  options.progress = [](float, const char*) -> bool { throw std::out_of_range("mine"); };
  CHECK_THROWS_AS(engine.load("tone:", options), std::out_of_range);
}

TEST_CASE("log lines are taken one by one", "[wrapper]") {
  const timbre::Engine engine = one_thread();
  while (const auto line = engine.next_log()) CHECK(line->level <= TIMBRE_LOG_ERROR);
  CHECK_FALSE(engine.next_log());
  CHECK(timbre::version().size() >= 5);
}
