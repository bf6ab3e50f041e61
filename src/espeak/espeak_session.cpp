// SPDX-License-Identifier: MIT
#include "espeak/espeak_session.hpp"

#include <locale.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "espeak/data_folder.hpp"

namespace timbre::espeak {
namespace {

/// Gives the calling thread the "C" locale, so that numbers in voice files read alike on every host.
class PlainLocale {
 public:
  PlainLocale() : plain_(shared()), before_(plain_ == nullptr ? nullptr : uselocale(plain_)) {}
  ~PlainLocale() {
    if (before_ != nullptr) uselocale(before_);
  }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  static locale_t shared() {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    return plain;
  }
  locale_t plain_;
  locale_t before_;
};

/// espeak-ng sets the process's LC_CTYPE when it starts; this puts the host's back.
class KeptCtype {
 public:
  KeptCtype() {
    const char* name = setlocale(LC_CTYPE, nullptr);
    if (name != nullptr) name_ = name;
  }
  ~KeptCtype() {
    if (!name_.empty()) setlocale(LC_CTYPE, name_.c_str());
  }
  KeptCtype(const KeptCtype&) = delete;
  KeptCtype& operator=(const KeptCtype&) = delete;

 private:
  std::string name_;
};

/// Blocks all signals, so that a thread made meanwhile never runs a handler of the host.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    blocked_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  }
  ~BlockedSignals() {
    if (blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
  bool blocked_ = false;
};

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string> voice_names(const EspeakLibrary& library) {
  std::vector<std::string> names;
  const EspeakVoice* const* voices = library.list_voices(nullptr);
  for (; voices != nullptr && *voices != nullptr; ++voices) {
    if ((*voices)->name != nullptr) names.push_back(lower_ascii((*voices)->name));
    if (const char* file = (*voices)->identifier) {
      const char* slash = std::strrchr(file, '/');
      names.push_back(lower_ascii(slash == nullptr ? file : slash + 1));
    }
    for (const char* language = (*voices)->languages; language != nullptr && *language != '\0';) {
      const std::string_view name(language + 1);
      names.push_back(lower_ascii(name));
      language += name.size() + 2;
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// espeak-ng takes control characters for commands to itself, and uses the private use area for its own marks.
void append_harmless(std::string_view text, std::string& out) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    const bool is_private = byte == 0xEE || (byte == 0xEF && next < 0xA4);
    if (is_private && at + 3 <= text.size()) {
      out += "   ";
      at += 2;
    } else {
      out += (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7F ? ' ' : text[at];
    }
  }
}

}  // namespace

Result<EspeakSession*> EspeakSession::start(const char* library_file, const char* data_path) {
  auto library = open_espeak_library(library_file);
  if (!library) return std::move(library).error();
  const PlainLocale locale;
  auto folder = find_data_folder(*library, data_path);
  if (!folder) return std::move(folder).error();
  std::unique_ptr<EspeakSession> session(new EspeakSession(std::move(*library)));
  if (auto done = session->initialize(*folder); !done) return std::move(done).error();
  return session.release();  // for the life of the process
}

Result<EspeakSession*> EspeakSession::open(const char* library, const char* data_path) {
  static std::mutex mutex;
  static EspeakSession* session = nullptr;
  const std::lock_guard lock(mutex);
  if (session == nullptr) {
    auto started = start(library, data_path);
    if (!started) return std::move(started).error();
    session = *started;
    return session;
  }
  const auto other = [](const char* what, const std::string& open, const char* asked) {
    return Error{Status::kIncompatible, std::string("espeak-ng has one state for the whole process, and its ") + what +
                                            " is already " + open + "; it cannot be " + asked + " as well"};
  };
  if (library != nullptr && std::strchr(library, '/') != nullptr && !same_file(library, session->library_.path)) {
    return other("library", session->library_.path, library);
  }
  if (data_path != nullptr && !same_file(data_path, session->data_folder_) &&
      !same_file(std::string(data_path) + "/espeak-ng-data", session->data_folder_)) {
    return other("data folder", session->data_folder_, data_path);
  }
  return session;
}

Result<void> EspeakSession::initialize(const std::string& data_folder) {
  library_.initialize_path(data_folder.c_str());
  const char* used = nullptr;
  library_.info(&used);
  if (used == nullptr || !same_file(used, data_folder)) {
    return Error{Status::kIncompatible, "espeak-ng reads its data from " + std::string(used == nullptr ? "?" : used) +
                                            " instead of " + data_folder};
  }
  void* context = nullptr;
  int status = 0;
  {
    const KeptCtype ctype;
    const BlockedSignals signals;
    status = library_.initialize(&context);
  }
  if (context != nullptr) library_.clear_error_context(&context);
  if (status != 0) {
    return Error{Status::kIncompatible, "espeak-ng " + std::string(library_.info(nullptr)) +
                                            " does not start with the data in " + data_folder + " (its status " +
                                            std::to_string(status) + ")"};
  }
  data_folder_ = data_folder;
  voices_ = voice_names(library_);
  return {};
}

Result<void> EspeakSession::check_voice(std::string_view voice) {
  const std::string_view base = voice.substr(0, voice.find('+'));  // a variant may follow: en-us+f3
  if (voice.size() <= 64 && std::binary_search(voices_.begin(), voices_.end(), lower_ascii(base)) &&
      voice.find('/') == std::string_view::npos && voice.find('\0') == std::string_view::npos) {
    return {};
  }
  return Error{Status::kNotFound,
               "espeak-ng has no voice \"" + std::string(voice.substr(0, 64)) + "\" in " + data_folder_};
}

std::string EspeakSession::voice_in_use() const {
  const EspeakVoice* voice = library_.current_voice();
  if (voice == nullptr || voice->name == nullptr || voice->identifier == nullptr) return "";
  return std::string(voice->name) + " " + voice->identifier;
}

// A host that uses the same library, or another copy of this plug-in, may have chosen a voice since, or started
// espeak-ng anew, which leaves it without one.
Result<void> EspeakSession::select_voice(std::string_view voice) {
  if (current_ == voice && !current_name_.empty() && voice_in_use() == current_name_) return {};
  if (auto known = check_voice(voice); !known) return known;
  current_.clear();
  const std::string name(voice);
  if (const int status = library_.set_voice_by_name(name.c_str()); status != 0) {
    return Error{Status::kNotFound,
                 "espeak-ng cannot use its voice \"" + name + "\" (its status " + std::to_string(status) + ")"};
  }
  current_ = name;
  current_name_ = voice_in_use();
  return {};
}

// The character that ended the clause before is kept inside espeak-ng and would be read first; an empty text takes it.
void EspeakSession::drop_read_ahead() {
  const void* empty = "";
  library_.text_to_phonemes(&empty, EspeakLibrary::kTextUtf8, EspeakLibrary::kPhonemesIpa);
}

Result<Clause> EspeakSession::next_clause(std::string_view voice, std::string_view text) {
  const std::string_view window = text.substr(0, safe_clause_size(text));
  const std::lock_guard lock(mutex_);
  const PlainLocale locale;
  if (auto selected = select_voice(voice); !selected) return std::move(selected).error();
  buffer_.clear();
  append_harmless(window, buffer_);
  drop_read_ahead();
  const void* position = buffer_.c_str();
  const char* phonemes = library_.text_to_phonemes(&position, EspeakLibrary::kTextUtf8, EspeakLibrary::kPhonemesIpa);
  if (phonemes == nullptr) return Error{Status::kInternal, "espeak-ng gave no phonemes"};
  Clause clause;
  clause.consumed = window.size();
  if (position != nullptr) {
    // espeak-ng has read one character of the next clause.
    auto read = static_cast<std::size_t>(static_cast<const char*>(position) - buffer_.c_str());
    read = std::min(read, window.size());
    while (read > 0 && (static_cast<unsigned char>(window[--read]) & 0xC0U) == 0x80U) {
    }
    if (read > 0) clause.consumed = read;
  }
  clause.phonemes = phonemes;
  clause.end = classify_clause_end(text.substr(0, clause.consumed), text.substr(clause.consumed));
  return clause;
}

}  // namespace timbre::espeak
