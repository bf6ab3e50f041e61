// SPDX-License-Identifier: MIT
//
// Hosts that are hard on a guest, one scenario a process: host_scenarios SCENARIO MODEL.
//
// Each scenario is a program's whole life, so it cannot share a process with others. It ends with status 0, or prints
// what was wrong and ends with 1. MODEL is a Piper .onnx, or "tone:".
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <atomic>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <omp.h>

#include "timbre/timbre.h"

namespace {

using namespace std::chrono_literals;

const std::vector<std::int32_t> kIds = {1, 0, 20, 0, 59, 0, 24, 0, 120, 0, 27, 0, 100, 0, 3, 0, 41, 0, 60, 0, 10, 0, 2};

/// Ends the process with a message unless `good`.
void expect(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "FAILED: %s (last error: %s)\n", what.c_str(), timbre_last_error());
  std::_Exit(1);
}

timbre_engine* make_engine(std::uint32_t threads) {
  timbre_engine_config config;
  timbre_engine_config_init(&config, sizeof config);
  config.thread_count = threads;
  timbre_engine* engine = nullptr;
  expect(timbre_engine_create(&config, &engine) == TIMBRE_OK, "create an engine");
  return engine;
}

timbre_model* load(timbre_engine* engine, const char* path, int warm_up = 1) {
  timbre_model_file file{};
  file.struct_size = sizeof file;
  file.path = path;
  timbre_model_options options;
  timbre_model_options_init(&options, sizeof options);
  options.warm_up = warm_up;
  timbre_model* model = nullptr;
  expect(timbre_model_load(engine, &file, 1, sizeof file, &options, &model) == TIMBRE_OK, "load the model");
  return model;
}

timbre_speech* open_ids(timbre_model* model, const std::vector<std::int32_t>& ids) {
  timbre_speech_request request;
  timbre_speech_request_init(&request, sizeof request);
  request.input_kind = TIMBRE_INPUT_IDS;
  request.ids = ids.data();
  request.id_count = ids.size();
  request.seed = 3;
  timbre_speech* speech = nullptr;
  expect(timbre_speech_open(model, &request, &speech) == TIMBRE_OK, "open an utterance");
  return speech;
}

std::vector<float> speak(timbre_model* model) {
  timbre_speech* speech = open_ids(model, kIds);
  std::vector<float> samples;
  std::vector<float> piece(1000);
  std::uint64_t count = 0;
  timbre_status status = TIMBRE_OK;
  while ((status = timbre_speech_read(speech, piece.data(), piece.size(), &count)) == TIMBRE_OK) {
    samples.insert(samples.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  }
  expect(status == TIMBRE_DONE, "read to the end");
  timbre_speech_close(speech);
  return samples;
}

std::vector<float> speak_in_new_engine(const char* path, std::uint32_t threads) {
  timbre_engine* engine = make_engine(threads);
  timbre_model* model = load(engine, path);
  std::vector<float> samples = speak(model);
  timbre_model_release(model);
  timbre_engine_destroy(engine);
  return samples;
}

std::size_t thread_total() {
  std::size_t count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1U : 0U;
  closedir(folder);
  return count;
}

/// The host's settings are not ours and ours are not the host's: same samples, and everything as it was.
void hostile(const char* path) {
  const std::vector<float> expected = speak_in_new_engine(path, 2);
  const char* locale = std::setlocale(LC_ALL, "de_DE.UTF-8");
  if (locale == nullptr) {
    std::puts("note: this machine has no de_DE.UTF-8, C.UTF-8 is used instead");
    locale = std::setlocale(LC_ALL, "C.UTF-8");
  }
  const std::string locale_before = locale == nullptr ? "" : locale;
  omp_set_num_threads(7);
  constexpr unsigned kMxcsr = 0x1F80U | 0x8040U | 0x2000U;  // flush to zero, denormals are zero, round down
  _mm_setcsr(kMxcsr);
  struct sigaction before[32];
  for (int signal = 1; signal < 32; ++signal) sigaction(signal, nullptr, &before[signal]);
  const std::vector<float> samples = speak_in_new_engine(path, 2);
  const unsigned mxcsr = _mm_getcsr() & ~0x3FU;  // the low bits only record what happened
  _mm_setcsr(0x1F80U);
  expect(samples == expected, "the same samples under the host's settings");
  expect(mxcsr == kMxcsr, "the host's floating-point state is unchanged");
  expect(omp_get_max_threads() == 7, "the host's OpenMP count is unchanged");
  expect(locale_before == std::setlocale(LC_ALL, nullptr), "the host's locale is unchanged");
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction after;
    sigaction(signal, nullptr, &after);
    expect(after.sa_handler == before[signal].sa_handler, "signal handlers are unchanged");
  }
}

/// Only the threads that were configured, and none after destroy but LibTorch's own pool.
void threads(const char* path) {
  const std::size_t before = thread_total();
  timbre_engine* engine = make_engine(2);
  timbre_model* model = load(engine, path);
  timbre_speech* speech = open_ids(model, kIds);
  float sample = 0;
  std::uint64_t count = 0;
  expect(timbre_speech_read(speech, &sample, 1, &count) == TIMBRE_OK, "read a sample");
  const std::size_t now = thread_total();
  expect(now <= before + 3, "two threads and the background one at most, there are " + std::to_string(now - before));
  timbre_speech_close(speech);
  timbre_model_release(model);
  timbre_engine_destroy(engine);
  expect(thread_total() <= before + 1, "the worker has ended");
}

/// Nothing on standard output or error, whatever happens.
void quiet(const char* path) {
  std::FILE* const kept = std::tmpfile();
  expect(kept != nullptr, "make a file");
  const int file = fileno(kept);
  const int out = dup(1);
  const int error = dup(2);
  dup2(file, 1);
  dup2(file, 2);
  speak_in_new_engine(path, 2);
  timbre_engine* engine = make_engine(1);
  timbre_model_file missing{};
  missing.struct_size = sizeof missing;
  missing.path = "/no/such/model.onnx";
  timbre_model* model = nullptr;
  const timbre_status status = timbre_model_load(engine, &missing, 1, sizeof missing, nullptr, &model);
  timbre_engine_destroy(engine);
  std::fflush(nullptr);
  dup2(out, 1);
  dup2(error, 2);
  expect(status == TIMBRE_ERR_NOT_FOUND, "a missing model is NOT_FOUND");
  struct stat facts {};
  expect(fstat(file, &facts) == 0 && facts.st_size == 0, "nothing was printed");
}

/// exit() while an utterance runs and readers wait, from the main thread.
void exit_while_speaking(const char* path, int warm_up) {
  timbre_engine* engine = make_engine(2);
  timbre_model* model = load(engine, path, warm_up);
  for (int i = 0; i < 4; ++i) {
    timbre_speech* speech = open_ids(model, std::vector<std::int32_t>(1500, kIds[2]));
    std::thread([speech] {
      std::vector<float> piece(1 << 20);
      std::uint64_t count = 0;
      while (timbre_speech_read(speech, piece.data(), piece.size(), &count) == TIMBRE_OK) {
      }
    }).detach();
  }
  std::this_thread::sleep_for(30ms);
  std::exit(0);
}

/// What the voice group answers, in a child: everything, the lease of the parent's included.
std::vector<timbre_status> ask_for_voices(timbre_engine* engine, timbre_lease lease) {
  timbre_lease other{};
  timbre_status row = TIMBRE_OK;
  timbre_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  timbre_voice_details details{};
  details.struct_size = sizeof details;
  timbre_voice_explanation told{};
  told.struct_size = sizeof told;
  timbre_stats stats{};
  stats.struct_size = sizeof stats;
  timbre_health health{};
  health.struct_size = sizeof health;
  const char* name = nullptr;
  const char* const id = "a";
  void* managed = nullptr;
  return {timbre_voice_get(engine, id, 0, &other),
          timbre_voice_try_get(engine, id, &other),
          timbre_voice_get_batch(engine, &id, 1, 0, &other, &row),
          timbre_voice_info(&lease, &details),
          timbre_voice_tensor_name(&lease, 0, &name),
          timbre_voice_tensor(&lease, "g", &tensor),
          timbre_voice_dlpack(&lease, "g", &managed),
          timbre_voice_wait_on(&lease, 0),
          timbre_voice_prefetch(engine, &id, 1, 0, nullptr, nullptr),
          timbre_voice_prefetch_top(engine, 1, 0, nullptr, nullptr),
          timbre_voice_explain(engine, id, &told),
          timbre_voice_remove(engine, id),
          timbre_engine_set_budget(engine, 0, TIMBRE_AUTO_U64),
          timbre_engine_trim(engine, 1, nullptr),
          timbre_engine_poll(engine, 0),
          timbre_engine_stats(engine, &stats),
          timbre_engine_health(engine, &health),
          timbre_voice_release_on(&lease, 0),
          timbre_voice_release(&lease)};
}

timbre_lease lease_of_new_voice(timbre_engine* engine, const char* id) {
  const float values[16] = {1};
  timbre_tensor g{};
  g.struct_size = sizeof g;
  g.dtype = TIMBRE_DTYPE_F32;
  g.name = "g";
  g.data = values;
  g.size_bytes = sizeof values;
  g.rank = 1;
  g.shape[0] = 16;
  timbre_voice_record record;
  timbre_voice_record_init(&record, sizeof record);
  record.tensors = &g;
  record.tensor_count = 1;
  expect(timbre_voice_put(engine, id, &record, nullptr, nullptr) == TIMBRE_OK, "put a voice");
  timbre_lease lease{};
  expect(timbre_voice_get(engine, id, -1, &lease) == TIMBRE_OK, "lease it");
  return lease;
}

/// Every call in a forked child is FORKED, returns at once, and the parent goes on.
void forked(const char* path) {
  timbre_engine* engine = make_engine(2);
  timbre_model* model = load(engine, path);
  timbre_speech* speech = open_ids(model, kIds);
  timbre_lease lease = lease_of_new_voice(engine, "a");
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    timbre_engine* second = nullptr;
    timbre_model_details details{};
    details.struct_size = sizeof details;
    timbre_speech_details state{};
    state.struct_size = sizeof state;
    float sample = 0;
    char line[16];
    std::uint64_t count = 0;
    const timbre_status all[] = {timbre_engine_create(nullptr, &second),
                                 timbre_model_info(model, &details),
                                 timbre_speech_read(speech, &sample, 1, &count),
                                 timbre_speech_try_read(speech, &sample, 1, &count),
                                 timbre_speech_info(speech, &state),
                                 timbre_speech_cancel(speech),
                                 timbre_log_next(engine, line, sizeof line, nullptr),
                                 timbre_speech_close(speech),
                                 timbre_model_release(model),
                                 timbre_engine_destroy(engine)};
    for (const timbre_status status : all) expect(status == TIMBRE_ERR_FORKED, timbre_status_name(status));
    for (const timbre_status status : ask_for_voices(engine, lease)) {
      expect(status == TIMBRE_ERR_FORKED, timbre_status_name(status));
    }
    std::exit(0);  // with our exit handler inherited: it must touch nothing
  }
  int result = -1;
  expect(waitpid(child, &result, 0) == child && WIFEXITED(result) && WEXITSTATUS(result) == 0, "the child ends well");
  timbre_speech_close(speech);
  expect(timbre_voice_release(&lease) == TIMBRE_OK, "the parent's lease is still its own");
  expect(!speak(model).empty(), "the parent speaks on");
  timbre_model_release(model);
  timbre_engine_destroy(engine);
}

/// cancel and close at random times end within a chunk, and the engine goes on.
void cancel(const char* path) {
  timbre_engine* engine = make_engine(2);
  timbre_model* model = load(engine, path);
  const std::vector<float> expected = speak(model);
  std::uint32_t state = 5;
  for (int round = 0; round < 15; ++round) {
    timbre_speech* speech = open_ids(model, std::vector<std::int32_t>(300, kIds[2]));
    state = state * 1664525U + 1013904223U;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(state >> 14U));
      timbre_speech_cancel(speech);
    });
    std::vector<float> piece(4096);
    std::uint64_t count = 0;
    timbre_status status = TIMBRE_OK;
    while ((status = timbre_speech_read(speech, piece.data(), piece.size(), &count)) == TIMBRE_OK) {
    }
    other.join();
    expect(status == TIMBRE_ERR_CANCELLED || status == TIMBRE_DONE, timbre_status_name(status));
    timbre_speech_close(speech);
  }
  expect(speak(model) == expected, "the samples after many cancels");
  timbre_model_release(model);
  timbre_engine_destroy(engine);
}

/// A host that never gives anything back and returns from main.
void careless(const char* path) {
  timbre_model* model = load(make_engine(2), path);
  open_ids(model, kIds);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(const char*)>> scenarios = {
      {"hostile", hostile},
      {"threads", threads},
      {"quiet", quiet},
      {"exit", [](const char* path) { exit_while_speaking(path, 1); }},
      {"exit_cold", [](const char* path) { exit_while_speaking(path, 0); }},
      {"forked", forked},
      {"cancel", cancel},
      {"careless", careless},
  };
  if (argc != 3 || scenarios.count(argv[1]) == 0)
    return std::fprintf(stderr, "usage: host_scenarios SCENARIO MODEL\n"), 2;
  scenarios.at(argv[1])(argv[2]);
  return 0;
}
