// SPDX-License-Identifier: MIT
//
// The functions of the C library that are counted. The program's definitions come first for every library that it
// loads; each counts and calls the one behind it.
#include "call_count.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> locks{0};

void* counted(void* memory) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

/// Counts, and calls the C library's function of this name. `next` is the caller's: found once, by whoever is first.
template <typename Lock>
int counted_lock(std::atomic<int (*)(Lock*)>& next, const char* name, Lock* lock) {
  locks.fetch_add(1, std::memory_order_relaxed);
  auto* function = next.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<int (*)(Lock*)>(dlsym(RTLD_NEXT, name));
    next.store(function, std::memory_order_relaxed);
  }
  return function(lock);
}

}  // namespace

namespace timbre::bench {

CallCount call_count() { return {allocations.load(std::memory_order_relaxed), locks.load(std::memory_order_relaxed)}; }

}  // namespace timbre::bench

// glibc's own names for the allocator's functions: dlsym allocates, so that it cannot be asked for these.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

#define TIMBRE_COUNTED __attribute__((visibility("default")))

TIMBRE_COUNTED void* malloc(std::size_t bytes) { return counted(__libc_malloc(bytes)); }
TIMBRE_COUNTED void* calloc(std::size_t count, std::size_t bytes) { return counted(__libc_calloc(count, bytes)); }
TIMBRE_COUNTED void* realloc(void* memory, std::size_t bytes) { return counted(__libc_realloc(memory, bytes)); }
TIMBRE_COUNTED void* memalign(std::size_t alignment, std::size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}
TIMBRE_COUNTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}
TIMBRE_COUNTED int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const made = counted(__libc_memalign(alignment, bytes));
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

#define TIMBRE_COUNTED_LOCK(Lock, name)               \
  TIMBRE_COUNTED int name(Lock* lock) {               \
    static std::atomic<int (*)(Lock*)> next{nullptr}; \
    return counted_lock(next, #name, lock);           \
  }

TIMBRE_COUNTED_LOCK(pthread_mutex_t, pthread_mutex_lock)
TIMBRE_COUNTED_LOCK(pthread_mutex_t, pthread_mutex_trylock)
TIMBRE_COUNTED_LOCK(pthread_rwlock_t, pthread_rwlock_rdlock)
TIMBRE_COUNTED_LOCK(pthread_rwlock_t, pthread_rwlock_wrlock)
TIMBRE_COUNTED_LOCK(pthread_rwlock_t, pthread_rwlock_tryrdlock)
TIMBRE_COUNTED_LOCK(pthread_rwlock_t, pthread_rwlock_trywrlock)
TIMBRE_COUNTED_LOCK(volatile int, pthread_spin_lock)
TIMBRE_COUNTED_LOCK(volatile int, pthread_spin_trylock)
}
