// SPDX-License-Identifier: MIT
#include "frontend/phonemizer.hpp"

#include <dlfcn.h>

#include <array>

namespace timbre::frontend {
namespace {

using ErrorText = std::array<char, 1024>;

Error plugin_error(timbre_status status, const ErrorText& text) {
  std::string message(text.data());
  if (message.empty()) message = "the phonemizer plug-in failed with status " + std::to_string(status);
  return Error{static_cast<Status>(status), std::move(message)};
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

Result<std::shared_ptr<Phonemizer>> Phonemizer::open(const std::string& plugin, const std::string& library,
                                                     const std::string& data_path) {
  void* handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{Status::kNotFound, "no phonemizer plug-in (token ids and phoneme strings work without one): " +
                                        std::string(why == nullptr ? plugin : why)};
  }
  const auto entry = reinterpret_cast<timbre_phonemizer_entry>(dlsym(handle, "timbre_phonemizer_v1"));
  if (entry == nullptr) {
    return Error{Status::kIncompatible, plugin + " exports no timbre_phonemizer_v1: not a phonemizer plug-in"};
  }
  return wrap(entry(), plugin, library, data_path);
}

Result<std::shared_ptr<Phonemizer>> Phonemizer::wrap(const timbre_phonemizer* table, const std::string& where,
                                                     const std::string& library, const std::string& data_path) {
  if (table == nullptr || table->struct_size < sizeof(timbre_phonemizer) || table->abi != TIMBRE_PHONEMIZER_ABI) {
    const std::string found = table == nullptr ? "none" : std::to_string(table->abi);
    return Error{Status::kIncompatible,
                 where + ": phonemizer ABI " + std::to_string(TIMBRE_PHONEMIZER_ABI) + " expected, found " + found};
  }
  ErrorText error{};
  void* self = nullptr;
  const timbre_status status = table->open(or_null(library), or_null(data_path), &self, error.data(), error.size());
  if (status != TIMBRE_OK) return plugin_error(status, error);
  return std::shared_ptr<Phonemizer>(new Phonemizer(table, self));
}

Phonemizer::~Phonemizer() { table_->close(self_); }

Result<void> Phonemizer::check_voice(const std::string& voice) const {
  ErrorText error{};
  const timbre_status status = table_->check_voice(self_, voice.c_str(), error.data(), error.size());
  if (status != TIMBRE_OK) return plugin_error(status, error);
  return {};
}

Result<bool> Phonemizer::next_clause(const std::string& voice, std::string_view text, std::uint64_t& offset,
                                     PhonemizerClause& out) const {
  ErrorText error{};
  out.phonemes.resize(4096);
  for (;;) {
    timbre_clause clause{};
    clause.struct_size = sizeof(clause);
    clause.phonemes = out.phonemes.data();
    clause.phonemes_capacity = out.phonemes.size();
    const std::uint64_t before = offset;
    const timbre_status status = table_->next_clause(self_, voice.c_str(), text.data(), text.size(), &offset, &clause,
                                                     error.data(), error.size());
    if (status == TIMBRE_DONE) return false;
    if (status != TIMBRE_OK) return plugin_error(status, error);
    if (clause.phonemes_size > out.phonemes.size()) {
      out.phonemes.resize(clause.phonemes_size);
      continue;
    }
    if (offset <= before || offset > text.size() || clause.source_begin > clause.source_end ||
        clause.source_end > text.size()) {
      return Error{Status::kInternal, "the phonemizer plug-in gave a clause outside of its text"};
    }
    out.phonemes.resize(clause.phonemes_size);
    out.terminator = static_cast<char32_t>(clause.terminator);
    out.ends_sentence = clause.ends_sentence != 0;
    out.source_begin = clause.source_begin;
    out.source_end = clause.source_end;
    return true;
  }
}

Result<std::shared_ptr<Phonemizer>> open_phonemizer(const PhonemizerProvider& provider, const std::string& voice,
                                                    const std::string& wanted_by) {
  if (!provider) return Error{Status::kNotFound, "there is no phonemizer: give token ids or a phoneme string"};
  auto phonemizer = provider();
  if (!phonemizer) return phonemizer;
  if (auto known = (*phonemizer)->check_voice(voice); !known) {
    return Error{known.error().status, wanted_by + ": " + known.error().message};
  }
  return phonemizer;
}

}  // namespace timbre::frontend
