// SPDX-License-Identifier: MIT
//
// timbre for C++: a header over the C ABI, nothing to link but libtimbre.
//
//   timbre::Engine engine;
//   timbre::Model model = engine.load("en_US-joe-medium.onnx");
//   std::vector<float> audio = model.speak(timbre::Request("Hello there, traveller.")).read_all();
//
// Invariants
//   * Handles move and do not copy; a destructor gives the handle back and never throws. An empty handle (moved from)
//     may only be destroyed or assigned to.
//   * A negative status becomes a timbre::Exception on the caller's side; nothing is thrown through the C ABI.
//   * The open structs of the C headers appear as derived structs that begin life with their defaults. They add no
//     member, only ways to fill in views; their fields are documented in c/*.h. Views must outlive the call only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timbre.h"

namespace timbre {

/// A failed call: its status, and what timbre_last_error() had to say.
class Exception : public std::runtime_error {
 public:
  Exception(timbre_status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  /// Negative: one of TIMBRE_ERR_*.
  [[nodiscard]] timbre_status status() const noexcept { return status_; }
  /// "TIMBRE_ERR_NOT_FOUND", for example.
  [[nodiscard]] const char* status_name() const noexcept { return timbre_status_name(status_); }

 private:
  timbre_status status_;
};

/// Passes OK, DONE and PENDING through and throws on errors. For hosts that call the C functions themselves.
inline timbre_status check(timbre_status status) {
  if (status < 0) throw Exception(status, timbre_last_error());
  return status;
}

/// A string as C wants it. A zero inside would name another voice, so it is an error here.
inline const char* c_string(const std::string& text) {
  if (text.find('\0') != std::string::npos) throw Exception(TIMBRE_ERR_INVALID_ARGUMENT, "a zero byte in: " + text);
  return text.c_str();
}

/// Version of the library that is loaded, "0.1.0".
inline std::string version() { return timbre_version(nullptr, nullptr, nullptr); }

/// timbre_engine_config with its defaults.
struct EngineConfig : timbre_engine_config {
  EngineConfig() { check(timbre_engine_config_init(this, sizeof(timbre_engine_config))); }
};

/// One part of a model: a path, or named bytes. What a name means stands at timbre_model_file.
struct ModelFile : timbre_model_file {
  explicit ModelFile(const char* file_path) : timbre_model_file{} {
    struct_size = sizeof(timbre_model_file);
    path = file_path;
  }
  explicit ModelFile(const std::string& file_path) : ModelFile(c_string(file_path)) {}
  ModelFile(const char* part_name, std::span<const std::byte> bytes) : timbre_model_file{} {
    struct_size = sizeof(timbre_model_file);
    name = part_name;
    data = bytes.data();
    size_bytes = bytes.size();
  }
};

/// Options of a load. `progress` gets (fraction, stage) on the calling thread and returns false to cancel.
struct LoadOptions {
  bool warm_up = true;
  std::function<bool(float, const char*)> progress;
};

/// A view of one named tensor, dense and row-major.
struct Tensor : timbre_tensor {
  /// A vector of floats, such as "g".
  Tensor(const char* tensor_name, std::span<const float> values)
      : Tensor(tensor_name, TIMBRE_DTYPE_F32, std::as_bytes(values),
               std::array{static_cast<std::int64_t>(values.size())}) {}
  /// Any dtype; more than four dimensions are an INVALID_ARGUMENT of the call that takes the tensor.
  Tensor(const char* tensor_name, std::int32_t tensor_dtype, std::span<const std::byte> bytes,
         std::span<const std::int64_t> dimensions)
      : timbre_tensor{} {
    struct_size = sizeof(timbre_tensor);
    dtype = tensor_dtype;
    name = tensor_name;
    data = bytes.data();
    size_bytes = bytes.size();
    rank = static_cast<std::uint32_t>(dimensions.size());
    for (std::size_t i = 0; i < dimensions.size() && i < 4; ++i) shape[i] = dimensions[i];
  }
};

/// timbre_voice_record with its defaults.
struct VoiceRecord : timbre_voice_record {
  VoiceRecord() { check(timbre_voice_record_init(this, sizeof(timbre_voice_record))); }
  explicit VoiceRecord(std::span<const Tensor> views, const char* fingerprint = nullptr) : VoiceRecord() {
    tensors = views.data();
    tensor_count = views.size();
    tensor_size = sizeof(Tensor);
    model_fingerprint = fingerprint;
  }
};

/// timbre_speech_request with its defaults: what to say and how.
struct Request : timbre_speech_request {
  Request() { check(timbre_speech_request_init(this, sizeof(timbre_speech_request))); }
  explicit Request(std::string_view words, std::int32_t kind = TIMBRE_INPUT_TEXT) : Request() {
    input_kind = kind;
    text = words.empty() ? "" : words.data();
    text_bytes = words.size();
  }
  explicit Request(std::span<const std::int32_t> tokens) : Request() {
    input_kind = TIMBRE_INPUT_IDS;
    ids = tokens.data();
    id_count = tokens.size();
  }

  Request& set_tensors(std::span<const Tensor> views) {
    tensors = views.data();
    tensor_count = views.size();
    tensor_size = sizeof(Tensor);
    return *this;
  }
  Request& set_durations(std::span<const std::int32_t> frames) {
    durations = frames.data();
    duration_count = frames.size();
    return *this;
  }
};

static_assert(sizeof(ModelFile) == sizeof(timbre_model_file) && sizeof(Tensor) == sizeof(timbre_tensor));

namespace internal {

template <typename T, timbre_status (*Free)(T*)>
class Handle {
 public:
  explicit Handle(T* handle = nullptr) noexcept : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      static_cast<void>(Free(handle_));
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Handle() { static_cast<void>(Free(handle_)); }  // Free allows NULL

  [[nodiscard]] T* get() const noexcept { return handle_; }

 private:
  T* handle_;
};

}  // namespace internal

/// An utterance: its samples are pulled, one reader at a time. Destroying it cancels what still runs.
class Speech {
 public:
  explicit Speech(timbre_speech* owned) noexcept : handle_(owned) {}
  [[nodiscard]] timbre_speech* get() const noexcept { return handle_.get(); }

  /// Waits for at least one sample. @return samples written, 0 after the last one. Throws TIMEOUT, CANCELLED, ...
  std::size_t read(std::span<float> out) {
    std::uint64_t count = 0;
    check(timbre_speech_read(get(), out.data(), out.size(), &count));
    return static_cast<std::size_t>(count);
  }

  /// Never waits. @return nothing when no sample is ready yet, 0 after the last one, else samples written.
  std::optional<std::size_t> try_read(std::span<float> out) {
    std::uint64_t count = 0;
    if (check(timbre_speech_try_read(get(), out.data(), out.size(), &count)) == TIMBRE_PENDING) return std::nullopt;
    return static_cast<std::size_t>(count);
  }

  /// Everything that is still to come.
  std::vector<float> read_all() {
    std::vector<float> audio;
    std::array<float, 4096> part;
    while (const std::size_t count = read(part)) audio.insert(audio.end(), part.begin(), part.begin() + count);
    return audio;
  }

  /// From any thread; a waiting reader gets CANCELLED.
  void cancel() { check(timbre_speech_cancel(get())); }

  [[nodiscard]] timbre_speech_details info() const {
    timbre_speech_details details{};
    details.struct_size = sizeof details;
    check(timbre_speech_info(get(), &details));
    return details;
  }

  [[nodiscard]] timbre_speech_times timeline() const {
    timbre_speech_times times{};
    times.struct_size = sizeof times;
    check(timbre_speech_timeline(get(), &times));
    return times;
  }

  /// The marks known so far, from number `first` on.
  [[nodiscard]] std::vector<timbre_mark> marks(std::uint64_t first = 0) const {
    std::vector<timbre_mark> all;
    std::array<timbre_mark, 256> page{};
    std::uint64_t count = 0;
    do {
      check(timbre_speech_marks(get(), first + all.size(), sizeof(timbre_mark), page.data(), page.size(), &count));
      all.insert(all.end(), page.begin(), page.begin() + static_cast<std::ptrdiff_t>(count));
    } while (count > 0);
    return all;
  }

 private:
  internal::Handle<timbre_speech, timbre_speech_close> handle_;
};

/// What a text becomes.
struct Tokens {
  std::vector<timbre_token> tokens;
  std::uint64_t skipped_symbols = 0;

  [[nodiscard]] std::vector<std::int32_t> ids() const {
    std::vector<std::int32_t> ids;
    ids.reserve(tokens.size());
    for (const timbre_token& token : tokens) ids.push_back(token.id);
    return ids;
  }
};

/// A loaded model, shared by all its utterances.
class Model {
 public:
  explicit Model(timbre_model* owned) noexcept : handle_(owned) {}
  [[nodiscard]] timbre_model* get() const noexcept { return handle_.get(); }

  /// Its strings live as long as this model.
  [[nodiscard]] timbre_model_details info() const {
    timbre_model_details details{};
    details.struct_size = sizeof details;
    check(timbre_model_info(get(), &details));
    return details;
  }

  [[nodiscard]] std::string speaker_name(std::int32_t speaker) const {
    const char* name = nullptr;
    check(timbre_model_speaker_name(get(), speaker, &name));
    return name;
  }

  /// The speaker's vector "g" [voice_dim], to be put as a voice or blended.
  [[nodiscard]] std::vector<float> speaker_vector(std::int32_t speaker) const {
    std::vector<float> vector(info().voice_dim + 1);  // never NULL, so that no conditioning is told as such
    std::uint64_t count = 0;
    check(timbre_model_speaker_vector(get(), speaker, vector.data(), vector.size(), &count));
    vector.resize(static_cast<std::size_t>(count));
    return vector;
  }

  /// @param kind  TIMBRE_INPUT_TEXT or TIMBRE_INPUT_PHONEMES.
  [[nodiscard]] Tokens tokenize(std::string_view text, std::int32_t kind = TIMBRE_INPUT_TEXT) const {
    const char* bytes = text.empty() ? "" : text.data();
    Tokens result;
    std::uint64_t count = 0;
    check(timbre_model_tokenize(get(), bytes, text.size(), kind, sizeof(timbre_token), nullptr, 0, &count, nullptr));
    result.tokens.resize(static_cast<std::size_t>(count));
    check(timbre_model_tokenize(get(), bytes, text.size(), kind, sizeof(timbre_token), result.tokens.data(), count,
                                &count, &result.skipped_symbols));
    return result;
  }

  /// Begins an utterance; the request is copied.
  [[nodiscard]] Speech speak(const Request& request) const {
    timbre_speech* speech = nullptr;
    check(timbre_speech_open(get(), &request, &speech));
    return Speech(speech);
  }

 private:
  internal::Handle<timbre_model, timbre_model_release> handle_;
};

/// One line of the engine's log.
struct LogLine {
  std::int32_t level = TIMBRE_LOG_INFO;
  std::string text;
};

/// Owns the worker threads and the voices. Destroying it cancels its utterances; models and utterances stay valid
/// objects that throw CLOSED.
class Engine {
 public:
  Engine() : handle_(create(nullptr)) {}
  explicit Engine(const EngineConfig& config) : handle_(create(&config)) {}
  [[nodiscard]] timbre_engine* get() const noexcept { return handle_.get(); }

  /// Blocks until the model is ready. An exception thrown by `options.progress` cancels the load and arrives here.
  [[nodiscard]] Model load(std::span<const ModelFile> files, const LoadOptions& options = {}) const {
    Progress progress{options.progress, nullptr};
    timbre_model_options c_options;
    check(timbre_model_options_init(&c_options, sizeof c_options));
    c_options.warm_up = options.warm_up ? 1 : 0;
    if (options.progress) {
      c_options.progress = &Progress::call;
      c_options.progress_user = &progress;
    }
    timbre_model* model = nullptr;
    const timbre_status status =
        timbre_model_load(get(), files.data(), files.size(), sizeof(ModelFile), &c_options, &model);
    if (progress.failure) {
      static_cast<void>(timbre_model_release(model));
      std::rethrow_exception(progress.failure);
    }
    check(status);
    return Model(model);
  }
  /// A single folder, .onnx file or "tone:".
  [[nodiscard]] Model load(const std::string& path, const LoadOptions& options = {}) const {
    const ModelFile file(path);
    return load(std::span(&file, 1), options);
  }

  /// Stores a voice. @return its version.
  std::uint64_t put_voice(const std::string& id, const VoiceRecord& record, bool ephemeral = false) const {
    timbre_voice_put_options options;
    check(timbre_voice_put_options_init(&options, sizeof options));
    options.ephemeral = ephemeral ? 1 : 0;
    std::uint64_t version = 0;
    check(timbre_voice_put(get(), c_string(id), &record, &options, &version));
    return version;
  }

  void remove_voice(const std::string& id) const { check(timbre_voice_remove(get(), c_string(id))); }

  /// Every id that begins with `prefix`, in byte order.
  [[nodiscard]] std::vector<std::string> list_voices(const std::string& prefix = "") const {
    std::vector<std::string> ids;
    std::vector<char> page(64 * 1024);  // an id has at most 512 bytes
    while (true) {
      const std::string cursor = ids.empty() ? "" : ids.back();
      std::uint64_t size = 0;
      std::uint64_t count = 0;
      check(timbre_voice_list(get(), c_string(prefix), cursor.c_str(), page.data(), page.size(), &size, &count));
      if (count == 0) return ids;
      const char* next = page.data();
      for (std::uint64_t i = 0; i < count; ++i) next += ids.emplace_back(next).size() + 1;
    }
  }

  /// The oldest log line, or nothing.
  [[nodiscard]] std::optional<LogLine> next_log() const {
    std::array<char, 4096> text{};
    LogLine line;
    if (check(timbre_log_next(get(), text.data(), text.size(), &line.level)) == TIMBRE_DONE) return std::nullopt;
    line.text = text.data();
    return line;
  }

 private:
  struct Progress {
    const std::function<bool(float, const char*)>& function;
    std::exception_ptr failure;

    static std::int32_t call(void* user, float fraction, const char* stage) {
      auto* self = static_cast<Progress*>(user);
      try {
        return self->function(fraction, stage) ? 0 : 1;
      } catch (...) {
        self->failure = std::current_exception();
        return 1;
      }
    }
  };

  static timbre_engine* create(const timbre_engine_config* config) {
    timbre_engine* engine = nullptr;
    check(timbre_engine_create(config, &engine));
    return engine;
  }

  internal::Handle<timbre_engine, timbre_engine_destroy> handle_;
};

}  // namespace timbre
