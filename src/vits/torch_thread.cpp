// SPDX-License-Identifier: MIT
#include "vits/torch_thread.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <exception>
#include <new>
#include <string_view>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace timbre::vits {
namespace {

class SilentHandler : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

/// omp_set_num_threads of the OpenMP that libtorch_cpu itself uses, or null.
void (*find_omp_set_num_threads())(int) {
  Dl_info where{};
  if (dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &where) == 0 || where.dli_fname == nullptr) {
    return nullptr;
  }
  void* library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* symbol = dlsym(library, "omp_set_num_threads");
  dlclose(library);  // the library stays: we are linked with it
  return reinterpret_cast<void (*)(int)>(symbol);
}

}  // namespace

void prepare_torch_thread(std::uint32_t thread_count) {
  (void)at::get_num_threads();  // ATen applies its global setting to a thread on first touch; ours comes after
  static const auto set_threads = find_omp_set_num_threads();
  if (set_threads != nullptr && thread_count > 0) set_threads(static_cast<int>(thread_count));
#if defined(__x86_64__) || defined(__i386__)
  _mm_setcsr(0x1F80);  // round to nearest, denormals kept, all exceptions masked, whatever the host's thread had
#endif
}

TorchScope::TorchScope()
    : warnings_([] {
        static SilentHandler handler;
        return &handler;
      }()) {}

Error current_torch_error(const std::string& doing) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error{Status::kOutOfMemory, doing + ": out of memory"};
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const bool memory =
        text.find("allocate memory") != std::string::npos || text.find("alloc_cpu") != std::string::npos;
    return Error{memory ? Status::kOutOfMemory : Status::kInternal, doing + ": " + text.substr(0, text.find('\n'))};
  } catch (const std::exception& error) {
    return Error{Status::kInternal, doing + ": " + error.what()};
  } catch (...) {
    return Error{Status::kInternal, doing + ": an unknown exception"};
  }
}

}  // namespace timbre::vits
