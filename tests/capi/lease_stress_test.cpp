// SPDX-License-Identifier: MIT
//
// Everything of the voice group at once, through the C ABI; and that nothing is left of engines that have gone.
#include <atomic>
#include <fstream>
#include <iostream>
#include <thread>

#if defined(__linux__)
#include <malloc.h>
#include <unistd.h>
#endif

#include "tone_engine.hpp"

using namespace timbre::test;  // NOLINT: a test's own helpers

namespace {

constexpr std::uint32_t kVoices = 40;
constexpr std::size_t kDim = 16;

/// A voice's vector tells its number, its version and, in every value, that the row is whole.
std::vector<float> stamped(std::uint32_t voice, std::uint32_t turn) {
  std::vector<float> values(kDim);
  for (std::size_t i = 0; i < kDim; ++i) values[i] = static_cast<float>(voice) / 64.0F + static_cast<float>(turn % 8);
  return values;
}

bool is_whole(const timbre_lease& lease, std::uint32_t voice) {
  timbre_tensor g{};
  g.struct_size = sizeof g;
  if (timbre_voice_tensor(&lease, "g", &g) != TIMBRE_OK || g.size_bytes != kDim * sizeof(float)) return false;
  const auto* values = static_cast<const float*>(g.data);
  const float turn = values[0] - static_cast<float>(voice) / 64.0F;
  if (turn != static_cast<float>(static_cast<int>(turn)) || turn < 0 || turn > 7) return false;
  for (std::size_t i = 1; i < kDim; ++i) {
    if (values[i] != values[0]) return false;
  }
  return true;
}

std::string id_of(std::uint32_t voice) { return "voice/" + std::to_string(voice); }

/// What one thread does; counts what is wrong instead of failing, as Catch is for one thread.
class Worker {
 public:
  Worker(const ToneEngine& tone, const std::string& fingerprint, std::uint64_t seed)
      : tone_(tone), fingerprint_(fingerprint), state_(seed * 2 + 1) {}

  void run(std::uint32_t operations) {
    for (std::uint32_t i = 0; i < operations; ++i) step();
    for (Held& held : held_) give_back(held);
  }

  std::uint64_t wrong = 0;
  std::uint64_t spoken = 0;

 private:
  struct Held {
    timbre_lease lease;
    std::uint32_t voice;
  };

  std::uint32_t roll(std::uint32_t below) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33U) % below;
  }
  void expect(bool good) { wrong += good ? 0U : 1U; }

  void step() {
    const std::uint32_t what = roll(100);
    const std::uint32_t voice = roll(kVoices);
    if (what < 60) {
      get(voice);
    } else if (what < 75) {
      put(voice);
    } else if (what < 80) {
      const timbre_status status = timbre_voice_remove(tone_.engine, id_of(voice).c_str());
      expect(status == TIMBRE_OK || status == TIMBRE_ERR_NOT_FOUND);
    } else if (what < 85) {
      batch();
    } else if (what < 88) {
      expect(timbre_engine_trim(tone_.engine, roll(1U << 20U), nullptr) == TIMBRE_OK);
    } else if (what < 91) {
      const std::uint64_t budgets[] = {0, 1U << 18U, 1U << 20U, 64U << 20U};
      expect(timbre_engine_set_budget(tone_.engine, budgets[roll(4)], TIMBRE_AUTO_U64) == TIMBRE_OK);
    } else if (what < 94) {
      expect(timbre_engine_poll(tone_.engine, 0) == TIMBRE_OK);
    } else if (what < 96) {
      timbre_voice_explanation told{};
      told.struct_size = sizeof told;
      expect(timbre_voice_explain(tone_.engine, id_of(voice).c_str(), &told) == TIMBRE_OK);
    } else {
      speak(voice);
    }
    if (held_.size() > 8) {
      Held& oldest = held_.front();
      give_back(oldest);
      held_.erase(held_.begin());
    }
  }

  void get(std::uint32_t voice) {
    timbre_lease lease{};
    const timbre_status status = roll(2) == 0 ? timbre_voice_get(tone_.engine, id_of(voice).c_str(), 10'000, &lease)
                                              : timbre_voice_try_get(tone_.engine, id_of(voice).c_str(), &lease);
    if (status == TIMBRE_ERR_NOT_FOUND || status == TIMBRE_PENDING) return;
    expect(status == TIMBRE_OK && is_whole(lease, voice));
    if (status == TIMBRE_OK) held_.push_back({lease, voice});
  }

  void give_back(Held& held) {
    expect(is_whole(held.lease, held.voice));
    timbre_lease copy = held.lease;
    expect(timbre_voice_release(&held.lease) == TIMBRE_OK);
    expect(timbre_voice_release(&copy) == TIMBRE_ERR_INVALID_ARGUMENT);
  }

  void put(std::uint32_t voice) {
    const std::vector<float> values = stamped(voice, roll(8));
    const timbre_tensor g = vector_tensor(values);
    timbre_voice_record record{};
    expect(timbre_voice_record_init(&record, sizeof record) == TIMBRE_OK);
    record.tensors = &g;
    record.tensor_count = 1;
    record.model_fingerprint = fingerprint_.c_str();
    expect(timbre_voice_put(tone_.engine, id_of(voice).c_str(), &record, nullptr, nullptr) == TIMBRE_OK);
  }

  void batch() {
    std::vector<std::string> names;
    std::vector<const char*> ids;
    for (int i = 0; i < 8; ++i) names.push_back(id_of(roll(kVoices)));
    for (const std::string& name : names) ids.push_back(name.c_str());
    std::vector<timbre_lease> leases(ids.size());
    std::vector<timbre_status> statuses(ids.size());
    timbre_voice_get_batch(tone_.engine, ids.data(), ids.size(), 10'000, leases.data(), statuses.data());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (statuses[i] == TIMBRE_ERR_NOT_FOUND) continue;
      expect(statuses[i] == TIMBRE_OK &&
             is_whole(leases[i], static_cast<std::uint32_t>(std::stoul(names[i].substr(6)))));
      expect(timbre_voice_release(&leases[i]) == TIMBRE_OK);
    }
  }

  void speak(std::uint32_t voice) {
    const std::string id = id_of(voice);
    timbre_speech_request request{};
    expect(timbre_speech_request_init(&request, sizeof request) == TIMBRE_OK);
    request.text = "hi";
    request.text_bytes = 2;
    request.voice = id.c_str();
    timbre_speech* speech = nullptr;
    const timbre_status opened = timbre_speech_open(tone_.model, &request, &speech);
    if (opened == TIMBRE_ERR_NOT_FOUND) return;
    expect(opened == TIMBRE_OK);
    if (opened != TIMBRE_OK) return;
    std::vector<float> piece(4096);
    std::uint64_t count = 0;
    timbre_status status = TIMBRE_OK;
    while ((status = timbre_speech_read(speech, piece.data(), piece.size(), &count)) == TIMBRE_OK) spoken += count;
    expect(status == TIMBRE_DONE || status == TIMBRE_ERR_NOT_FOUND);
    expect(timbre_speech_close(speech) == TIMBRE_OK);
  }

  const ToneEngine& tone_;
  const std::string& fingerprint_;
  std::uint64_t state_;
  std::vector<Held> held_;
};

timbre_stats stats_of(timbre_engine* engine) {
  timbre_stats stats{};
  stats.struct_size = sizeof stats;
  REQUIRE(timbre_engine_stats(engine, &stats) == TIMBRE_OK);
  return stats;
}

std::uint32_t short_form(const char* what, std::uint32_t all, std::uint32_t part) {
  if (std::getenv("TIMBRE_TEST_FULL") != nullptr) return all;
  std::cout << "short form: " << part << " of " << all << ' ' << what << "; TIMBRE_TEST_FULL=1 runs all\n";
  return part;
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::uint64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}
#endif

/// An engine is made, used in every way that holds memory, and destroyed.
void use_an_engine() {
  const ToneEngine tone;
  const std::string fingerprint = info(tone.model).fingerprint;
  Worker worker(tone, fingerprint, 7);
  worker.run(300);
  CHECK(worker.wrong == 0);
  CHECK(stats_of(tone.engine).leases == 0);
}

}  // namespace

TEST_CASE("eight threads get, put, remove, trim, speak and change the budget, and see only whole voices",
          "[capi][lease][stress]") {
  const ToneEngine tone;
  const std::string fingerprint = info(tone.model).fingerprint;
  const std::uint32_t operations = short_form("operations of each of 8 threads", 100'000, 2'000);
  std::vector<Worker> workers;
  for (std::uint64_t i = 0; i < 8; ++i) workers.emplace_back(tone, fingerprint, i + 1);
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&worker, operations] { worker.run(operations); });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t spoken = 0;
  for (const Worker& worker : workers) {
    CHECK(worker.wrong == 0);
    spoken += worker.spoken;
  }
  CHECK(spoken > 0);
  const timbre_stats stats = stats_of(tone.engine);
  CHECK(stats.leases == 0);
  CHECK(stats.leased_bytes == 0);
  CHECK(stats.retired_bytes == 0);
  CHECK(stats.transient_bytes == 0);
  REQUIRE(timbre_engine_trim(tone.engine, TIMBRE_AUTO_U64, nullptr) == TIMBRE_OK);
  CHECK(stats_of(tone.engine).held_bytes == 0);
}

TEST_CASE("an engine that has gone leaves nothing", "[capi][lease][lifetime]") {
  for (int i = 0; i < 10; ++i) use_an_engine();
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const std::uint64_t before = resident_bytes();
  for (int i = 0; i < 100; ++i) use_an_engine();
  const std::uint64_t after = resident_bytes();
  INFO("resident: " << before << " bytes, after 100 more engines " << after);
  CHECK(after < before + (std::uint64_t{1} << 20U));
#else
  // Sanitizers keep freed memory for a while; LeakSanitizer tells what is lost.
  for (int i = 0; i < 20; ++i) use_an_engine();
#endif
}
