// SPDX-License-Identifier: MIT
#include "speech/speech_stream.hpp"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "speech/tone_synthesizer.hpp"

using namespace timbre::speech;  // NOLINT: a test
using timbre::Result;
using timbre::Status;

namespace {

thread_local bool allocations_counted = false;
std::atomic<long> allocations_left{-1};  // of the counted threads; -1 = no limit

/// Every later allocation of a counted thread up to number `count` succeeds, that one fails, then all succeed again.
void fail_allocation(long count) { allocations_left = count; }

std::shared_ptr<SpeechStream> make_stream(Executor& executor, std::uint64_t ring_samples) {
  auto model = std::make_shared<Model>();
  model->synthesizer = make_tone_synthesizer();
  Request request;
  request.kind = InputKind::kIds;
  request.ids = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  request.output_sample_rate_hz = 16'000;
  auto utterance = std::make_unique<Utterance>(model, std::move(request), nullptr, std::nullopt);
  return std::make_shared<SpeechStream>(executor, std::move(utterance), ring_samples);
}

Status read_to_end(SpeechStream& stream) {
  std::array<float, 512> out{};
  while (true) {
    Status status = Status::kOk;
    Result<std::size_t> count = stream.read(out, std::nullopt, status);
    if (!count) return count.error().status;
    if (status != Status::kOk) return status;
  }
}

}  // namespace

// Not inlined: g++ takes the malloc below for a mismatch where it sees both sides.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_counted && allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("an allocation that fails on the worker ends the utterance and not the process", "[stream][memory]") {
  auto executor = Executor::start({});
  REQUIRE(executor);
  REQUIRE((*executor)->post([] { allocations_counted = true; }));
  long count = 0;
  for (; count < 10'000; ++count) {
    const auto stream = make_stream(**executor, 3000);
    fail_allocation(count);
    stream->start();
    const Status status = read_to_end(*stream);
    const bool failed = allocations_left.exchange(-1) < 0;
    if (!failed) {
      CHECK(status == Status::kDone);
      break;
    }
    CHECK(status == Status::kOutOfMemory);
  }
  CHECK(count > 20);
}

TEST_CASE("a reader that cannot wake its parked utterance is told so by the next read", "[stream][memory]") {
  auto executor = Executor::start({});
  REQUIRE(executor);
  const auto stream = make_stream(**executor, 1);
  stream->start();
  Status status = Status::kOk;
  std::array<float, 65'536> out{};
  REQUIRE(stream->read(std::span(out).first(1), std::nullopt, status));
  allocations_counted = true;
  fail_allocation(0);
  const bool read = stream->read(out, std::nullopt, status).ok();
  allocations_counted = false;
  CHECK(read);
  CHECK(allocations_left.exchange(-1) == -1);
  CHECK(read_to_end(*stream) == Status::kOutOfMemory);
}
