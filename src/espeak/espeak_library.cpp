// SPDX-License-Identifier: MIT
//
// Looks for libespeak-ng by its run-time name and takes the functions it needs.
#include "espeak/espeak_library.hpp"

#include <dlfcn.h>

#include <array>

namespace timbre::espeak {
namespace {

constexpr std::array kNames = {"libespeak-ng.so.1", "libespeak-ng.so"};

template <typename Function>
bool take(void* handle, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  return out != nullptr;
}

Result<void> take_functions(void* handle, EspeakLibrary& out) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!take(handle, name, function) && missing == nullptr) missing = name;
  };
  need("espeak_ng_InitializePath", out.initialize_path);
  need("espeak_ng_Initialize", out.initialize);
  need("espeak_ng_ClearErrorContext", out.clear_error_context);
  need("espeak_ng_SetVoiceByName", out.set_voice_by_name);
  need("espeak_Info", out.info);
  need("espeak_ListVoices", out.list_voices);
  need("espeak_GetCurrentVoice", out.current_voice);
  need("espeak_TextToPhonemes", out.text_to_phonemes);
  if (missing == nullptr) return {};
  return Error{Status::kIncompatible, std::string("the phonemizer library has no function ") + missing};
}

}  // namespace

Result<EspeakLibrary> open_espeak_library(const char* file) {
  constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  EspeakLibrary library;
  void* handle = nullptr;
  std::string why;
  const auto attempt = [&](const char* name) {
    handle = dlopen(name, kMode);
    if (handle == nullptr && why.empty()) {
      const char* message = dlerror();
      why = message == nullptr ? "unknown error" : message;
    }
    return handle != nullptr;
  };
  if (file != nullptr) {
    attempt(file);
  } else {
    for (const char* name : kNames) {
      if (attempt(name)) break;
    }
  }
  if (handle == nullptr) {
    return Error{Status::kNotFound,
                 "espeak-ng, which turns text into phonemes, could not be opened (Debian package libespeak-ng1; token "
                 "ids and phoneme strings work without it): " +
                     why};
  }
  if (auto taken = take_functions(handle, library); !taken) return std::move(taken).error();
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(library.initialize), &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
  return library;
}

}  // namespace timbre::espeak
