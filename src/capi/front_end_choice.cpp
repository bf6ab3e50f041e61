// SPDX-License-Identifier: MIT
#include "capi/front_end_choice.hpp"

#include "frontend/character_front_end.hpp"
#include "frontend/piper_front_end.hpp"
#include "speech/synthesizer.hpp"

namespace timbre::capi {

static_assert(frontend::kMaxSentenceIds == speech::kMaxSegmentIds, "a sentence must fit into one run of a model");

Result<std::unique_ptr<frontend::FrontEnd>> make_front_end(const speech::ModelFiles& files,
                                                           frontend::PhonemizerProvider phonemizer) {
  if (files.find("vocab.json") != nullptr) {
    const auto part = [&files](std::string_view name) {
      const speech::ModelFile* file = files.find(name);
      return file == nullptr ? frontend::NamedText{} : frontend::NamedText{file->text(), file->where};
    };
    const frontend::CharacterFiles named{part("vocab.json"), part("tokenizer_config.json"), part("added_tokens.json"),
                                         part("special_tokens_map.json")};
    return frontend::make_character_front_end(named, std::move(phonemizer));
  }
  const speech::ModelFile* config = files.find_suffix(".json");
  const bool hugging_face = config != nullptr && config->name == "config.json" && files.find_suffix(".onnx") == nullptr;
  if (config == nullptr || hugging_face) return std::unique_ptr<frontend::FrontEnd>{};
  return frontend::make_piper_front_end(config->text(), config->where, std::move(phonemizer));
}

}  // namespace timbre::capi
