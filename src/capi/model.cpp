// SPDX-License-Identifier: MIT
//
// c/model.h: loading, facts, speakers, tokens.
#include "timbre/c/model.h"

#include "capi/arguments.hpp"
#include "capi/handles.hpp"
#include "capi/instruction_set.hpp"
#include "capi/model_load.hpp"

namespace timbre::capi {
namespace {

constexpr std::uint64_t kMaxParts = 64;

timbre_model_options default_options() {
  timbre_model_options options{};
  options.struct_size = sizeof options;
  options.warm_up = 1;
  return options;
}

Result<ModelPart> read_part(const timbre_model_file& file, std::uint64_t index) {
  Result<std::string> name = read_text(file.name, "the name of a part");
  if (!name) return std::move(name).error();
  Result<std::string> path = read_text(file.path, "the path of a part");
  if (!path) return std::move(path).error();
  ModelPart part{std::move(*name), std::move(*path), {}, file.data != nullptr};
  if (part.name == "tone:" || part.path == "tone:") return ModelPart{"tone:", "", {}, false};
  if (part.in_memory == !part.path.empty()) {
    return invalid(fmt::format("part {} ('{}') needs either a path or data", index, part.name));
  }
  if (part.in_memory && part.name.empty()) return invalid(fmt::format("part {} has data but no name", index));
  if (part.in_memory && file.size_bytes == 0) {
    return Error{Status::kFormat, fmt::format("{} (in memory): the file is empty", part.name)};
  }
  part.bytes = {static_cast<const std::byte*>(file.data),
                static_cast<std::size_t>(part.in_memory ? file.size_bytes : 0)};
  return part;
}

Result<std::vector<ModelPart>> read_parts(const timbre_model_file* files, std::uint64_t count,
                                          std::uint64_t file_size) {
  if (files == nullptr) return invalid("files is NULL");
  if (count == 0 || count > kMaxParts) return invalid(fmt::format("{} parts, expected 1..{}", count, kMaxParts));
  if (Result<void> checked = check_element_size<timbre_model_file>(file_size, "file_size"); !checked)
    return std::move(checked).error();
  std::vector<ModelPart> parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    Result<timbre_model_file> file = read_element(files, file_size, i, timbre_model_file{}, "a part");
    if (!file) return std::move(file).error();
    Result<ModelPart> part = read_part(*file, i);
    if (!part) return std::move(part).error();
    parts.push_back(std::move(*part));
    if (count > 1 && parts.back().name == "tone:") {
      return invalid(fmt::format("part {} is 'tone:', a whole model: it stands alone", i));
    }
  }
  return parts;
}

Result<timbre_model_details> details_of(const timbre_model& model) {
  const speech::ModelFacts& facts = model.model->synthesizer->facts();
  timbre_model_details details{};
  details.sample_rate_hz = facts.sample_rate_hz;
  details.speaker_count = facts.speaker_count;
  details.voice_dim = facts.voice_dim;
  details.hop_samples = facts.hop_samples;
  details.token_count = facts.token_count;
  details.noise_scale = facts.noise_scale;
  details.length_scale = facts.length_scale;
  details.noise_w = facts.noise_w;
  details.precision = facts.precision == "bf16" ? TIMBRE_PRECISION_BF16 : TIMBRE_PRECISION_FP32;
  details.fingerprint = facts.fingerprint.c_str();
  details.family = facts.family.c_str();
  details.name = facts.name.c_str();
  details.device = "cpu";
  details.instruction_set = instruction_set();
  details.front_end = model.front_end.c_str();
  details.language = model.language.c_str();
  return details;
}

/// Drives a cursor to its end and writes tokens as far as they fit.
class TokenWriter {
 public:
  TokenWriter(timbre_token* out, std::uint64_t token_size, std::uint64_t capacity)
      : out_(out), token_size_(token_size), capacity_(capacity) {}

  Result<void> run(frontend::TextCursor& cursor) {
    frontend::Sentence sentence;
    while (true) {
      sentence = {};
      Result<bool> more = cursor.next(sentence);
      if (!more) return std::move(more).error();
      if (!*more) break;
      skipped_ += sentence.skipped_symbols;
      for (std::size_t i = 0; i < sentence.ids.size(); ++i) write(sentence.ids[i], sentence.ranges[i]);
      ++sentence_;
    }
    skipped_ += cursor.skipped_at_end();
    return {};
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  void write(std::int32_t id, frontend::SourceRange range) {
    if (count_ < capacity_) {
      timbre_token token{};
      token.id = id;
      token.source_begin = range.begin;
      token.source_end = range.end;
      token.sentence = sentence_;
      write_element(out_, token_size_, count_, token);
    }
    ++count_;
  }

  timbre_token* out_;
  std::uint64_t token_size_;
  std::uint64_t capacity_;
  std::uint64_t count_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint32_t sentence_ = 0;
};

}  // namespace
}  // namespace timbre::capi

using namespace timbre::capi;  // NOLINT: the C functions below are outside every namespace
using timbre::Error;
using timbre::Result;
using timbre::Status;

extern "C" {

timbre_status timbre_model_options_init(timbre_model_options* options, uint32_t struct_size) {
  return guard([&] { return init_struct(options, struct_size, default_options()); });
}

timbre_status timbre_model_load(timbre_engine* engine, const timbre_model_file* files, uint64_t count,
                                uint64_t file_size, const timbre_model_options* given, timbre_model** out_model) {
  return guard([&]() -> Result<void> {
    if (out_model == nullptr) return invalid("out_model is NULL");
    *out_model = nullptr;
    Result<std::shared_ptr<EngineState>> state = open_engine(engine);
    if (!state) return std::move(state).error();
    Result<timbre_model_options> options =
        given == nullptr ? default_options() : read_struct(given, default_options(), "options");
    if (!options) return std::move(options).error();
    Result<std::vector<ModelPart>> parts = read_parts(files, count, file_size);
    if (!parts) return std::move(parts).error();
    ProgressCallback progress;
    if (options->progress != nullptr) {
      progress = [&](float fraction, const char* stage) {
        return options->progress(options->progress_user, fraction, stage) == 0;
      };
    }
    auto handle = std::make_unique<timbre_model>();
    Result<std::shared_ptr<const timbre::speech::Model>> model =
        load_model(**state, *parts, options->warm_up != 0, progress);
    if (!model) return std::move(model).error();
    handle->engine = std::move(*state);
    handle->model = std::move(*model);
    const timbre::frontend::FrontEnd* front_end = handle->model->front_end.get();
    handle->front_end = front_end == nullptr ? "none" : front_end->kind();
    handle->language = front_end == nullptr ? "" : front_end->language();
    *out_model = handle.release();
    return {};
  });
}

timbre_status timbre_model_info(timbre_model* model, timbre_model_details* out_details) {
  return guard([&]() -> Result<void> {
    if (Result<void> open = check_open(model); !open) return open;
    Result<timbre_model_details> details = details_of(*model);
    return write_struct(out_details, *details, "out_details");
  });
}

timbre_status timbre_model_speaker_name(timbre_model* model, int32_t speaker, const char** out_name) {
  return guard([&]() -> Result<void> {
    if (out_name == nullptr) return invalid("out_name is NULL");
    *out_name = "";
    if (Result<void> open = check_open(model); !open) return open;
    const timbre::speech::ModelFacts& facts = model->model->synthesizer->facts();
    if (Result<void> checked = timbre::speech::check_speaker(speaker, facts); !checked) return checked;
    const auto index = static_cast<std::size_t>(speaker);
    if (index < facts.speaker_names.size()) *out_name = facts.speaker_names[index].c_str();
    return {};
  });
}

timbre_status timbre_model_speaker_vector(timbre_model* model, int32_t speaker, float* out, uint64_t capacity,
                                          uint64_t* out_count) {
  return guard([&]() -> Result<void> {
    if (out_count == nullptr) return invalid("out_count is NULL");
    *out_count = 0;
    if (Result<void> open = check_open(model); !open) return open;
    const timbre::speech::Synthesizer& synthesizer = *model->model->synthesizer;
    if (synthesizer.facts().voice_dim == 0)
      return Error{Status::kUnsupported, "the model takes no speaker conditioning"};
    Result<std::vector<float>> vector = timbre::speech::bind_speaker(speaker, synthesizer);
    if (!vector) return std::move(vector).error();
    if (out == nullptr || capacity < vector->size()) {
      return invalid(
          fmt::format("room for {} floats, the vector has {}", out == nullptr ? 0 : capacity, vector->size()));
    }
    std::copy(vector->begin(), vector->end(), out);
    *out_count = vector->size();
    return {};
  });
}

timbre_status timbre_model_tokenize(timbre_model* model, const char* text, uint64_t text_bytes, int32_t input_kind,
                                    uint64_t token_size, timbre_token* out, uint64_t capacity, uint64_t* out_count,
                                    uint64_t* out_skipped) {
  return guard([&]() -> Result<void> {
    if (out_count == nullptr) return invalid("out_count is NULL");
    *out_count = 0;
    if (Result<void> open = check_open(model); !open) return open;
    if (input_kind != TIMBRE_INPUT_TEXT && input_kind != TIMBRE_INPUT_PHONEMES) {
      return invalid(fmt::format("input_kind {} is neither text nor phonemes", input_kind));
    }
    if (out == nullptr && capacity > 0) return invalid("out is NULL");
    if (Result<void> checked = check_element_size<timbre_token>(token_size, "token_size"); !checked) return checked;
    Result<std::string> owned = read_text(text, text_bytes, "text");
    if (!owned) return std::move(owned).error();
    const timbre::frontend::FrontEnd* front_end = model->model->front_end.get();
    if (front_end == nullptr) return Error{Status::kUnsupported, "the model came without a text configuration"};
    auto cursor = front_end->open(*owned, static_cast<timbre::frontend::InputKind>(input_kind));
    if (!cursor) return std::move(cursor).error();
    TokenWriter writer(out, token_size, capacity);
    if (Result<void> done = writer.run(**cursor); !done) return done;
    *out_count = writer.count();
    if (out_skipped != nullptr) *out_skipped = writer.skipped();
    return {};
  });
}

timbre_status timbre_model_release(timbre_model* model) {
  return guard([&]() -> Result<void> {
    delete model;
    return {};
  });
}

}  // extern "C"
