// SPDX-License-Identifier: MIT
//
// A guest both ways: the host's settings of LibTorch, OpenMP and the processor do not reach the model, and ours do not
// reach the host.
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/Exception.h>
#include <c10/util/typeid.h>

#include <atomic>
#include <thread>

#include "model_case.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace timbre::vits_test {
namespace {

const Sentence kSentence{{1, 0, 20, 0, 17, 0, 24, 0, 2}, {}, {}, 0.667F, 1, 0.8F, 9, 0};

/// Speaks on a thread of its own, as an engine does.
std::vector<float> speak_on_thread(const speech::Synthesizer& model, std::uint32_t threads) {
  std::vector<float> samples;
  std::thread([&] {
    backend().enter_thread(threads);
    samples = speak(model, kSentence).samples;
  }).join();
  return samples;
}

struct CountingHandler : c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override { ++count; }
  int count = 0;
};

}  // namespace

TEST_CASE("a host's default dtype and floating-point state change no sample", "[vits][guest]") {
  const auto model = load(piper(kGoldens / "piper_low.onnx"));
  const auto before = speak_on_thread(*model, 2);
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
#if defined(__x86_64__)
  const unsigned state = _mm_getcsr();
  _mm_setcsr(state | 0x8040);  // flush to zero, denormals are zero: inherited by new threads
#endif
  const auto again = load(piper(kGoldens / "piper_low.onnx"));
  const auto after = speak_on_thread(*again, 2);
#if defined(__x86_64__)
  CHECK((_mm_getcsr() & 0x8040U) != 0);  // the host's own thread keeps what it set
  _mm_setcsr(state);
#endif
  CHECK(c10::get_default_dtype() == caffe2::TypeMeta::Make<double>());
  c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  CHECK(after == before);
}

TEST_CASE("an engine's thread count is its thread's own", "[vits][guest]") {
  const auto model = load(piper(kGoldens / "piper_low.onnx"));
  int host = 0;
  std::thread([&] { host = at::get_num_threads(); }).join();
  int ours = 0;
  std::thread([&] {
    backend().enter_thread(1);
    (void)speak(*model, kSentence);
    ours = at::get_num_threads();
  }).join();
  int after = 0;
  std::thread([&] { after = at::get_num_threads(); }).join();
  CHECK(ours == 1);
  CHECK(after == host);
}

TEST_CASE("a host's warning handler is its own again after a run", "[vits][guest]") {
  CountingHandler handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  const auto model = load(piper(kGoldens / "piper_low.onnx"));
  (void)speak(*model, kSentence);
  CHECK(handler.count == 0);
  TORCH_WARN("for the host");
  CHECK(handler.count == 1);
}

TEST_CASE("one and two threads agree, and runs side by side are bit-equal", "[vits][guest]") {
  const auto model = load(piper(kGoldens / "piper_multi.onnx"));
  Sentence sentence = kSentence;
  sentence.voice = voice_of(*model, 2);
  std::vector<std::vector<float>> out(4);
  std::vector<std::thread> threads;
  for (auto& samples : out) {
    threads.emplace_back([&] {
      backend().enter_thread(2);
      samples = speak(*model, sentence).samples;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& samples : out) CHECK(samples == out[0]);
  std::vector<float> alone;
  std::thread([&] {
    backend().enter_thread(1);
    alone = speak(*model, sentence).samples;
  }).join();
  CHECK(distance(alone, out[0]) <= 1e-5);
}

TEST_CASE("after a warm-up, sentences side by side give the bits that each gives alone", "[vits][guest]") {
  const Parts parts = piper(kGoldens / "piper_multi_high.onnx");
  auto loaded = backend().load(parts.files, {});
  REQUIRE(loaded.ok());
  const speech::Synthesizer& model = **loaded;
  REQUIRE(model.facts().side_by_side);
  CHECK_FALSE(load(parts)->facts().side_by_side);  // nobody has looked
  std::vector<Sentence> sentences;
  for (std::int32_t i = 0; i < 8; ++i) {
    Sentence sentence{{},
                      voice_of(model, i % static_cast<std::int32_t>(model.facts().speaker_count)),
                      {},
                      0.667F,
                      1,
                      0.8F,
                      static_cast<std::uint64_t>(i),
                      0};
    for (std::int32_t j = 0; j < 5 + 40 * i; ++j) sentence.ids.push_back((i + j * 7) % 38);
    sentences.push_back(std::move(sentence));
  }
  std::vector<std::vector<float>> beside(sentences.size());
  std::atomic<std::size_t> next{0};
  backend().side_by_side([&] {
    for (std::size_t i = next++; i < sentences.size(); i = next++) beside[i] = speak(model, sentences[i]).samples;
  });
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    INFO(i);
    CHECK(beside[i] == speak(model, sentences[i]).samples);
  }
}

}  // namespace timbre::vits_test
