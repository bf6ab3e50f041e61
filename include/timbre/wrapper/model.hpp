// SPDX-License-Identifier: MIT
//
// Models: their parts, what a text becomes, and a loaded model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timbre/wrapper/speech.hpp"

namespace timbre {

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

static_assert(sizeof(ModelFile) == sizeof(timbre_model_file));

/// Options of a load. `progress` gets (fraction, stage) on the calling thread and returns false to cancel.
struct LoadOptions {
  bool warm_up = true;
  std::function<bool(float, const char*)> progress;
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

}  // namespace timbre
