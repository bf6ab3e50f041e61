/* SPDX-License-Identifier: MIT
 *
 * The engine: owns the worker threads, the voice store and, through them, every model and utterance made from it.
 *
 * Conventions of all timbre headers
 *   1. Handles are opaque; a handle comes first, then inputs, then outputs.
 *   2. Every open struct begins with `struct_size`. timbre_<x>_init fills the defaults; fields are only ever appended.
 *   3. 0 is a value. "Let timbre choose" is TIMBRE_AUTO, in the variant of the field's type.
 *   4. Strings are UTF-8 and are copied before the call returns. Paths are UTF-8 too.
 *   5. Nothing is printed, no signal handler is installed, no exception leaves, no host setting changes.
 *   6. In a child made by fork() every call answers TIMBRE_ERR_FORKED.
 */
#ifndef TIMBRE_C_ENGINE_H
#define TIMBRE_C_ENGINE_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct timbre_engine timbre_engine;

#define TIMBRE_PRECISION_AUTO 0
#define TIMBRE_PRECISION_FP32 1
#define TIMBRE_PRECISION_BF16 2

/** How an engine is made. Threads it may start: one worker, named `thread_name`, and `thread_count - 1` OpenMP helpers.
 */
typedef struct timbre_engine_config {
  uint32_t struct_size;
  /** Compute threads, 1..256. TIMBRE_AUTO_U32: the cores this process may use, at most 4. */
  uint32_t thread_count;
  /** "auto", "cpu", "cuda", "cuda:N". NULL = "auto". "cuda" without one is TIMBRE_ERR_NO_DEVICE unless allowed below.
   */
  const char *device;
  /** 1: a missing device falls back to the CPU, and timbre_model_info tells. 0: it is an error. */
  int32_t allow_device_fallback;
  /** TIMBRE_PRECISION_*. This version computes in fp32; BF16 answers TIMBRE_ERR_UNSUPPORTED. */
  int32_t precision;
  /** Where voices are kept: "memory:". Other addresses answer TIMBRE_ERR_UNSUPPORTED in this version. NULL = "memory:".
   */
  const char *store;
  /** Name of the worker thread, at most 15 bytes. NULL = "timbre". */
  const char *thread_name;
  /** Nice value of the worker, -20..19; TIMBRE_AUTO_I32 leaves it as inherited. A refusal by the system is logged. */
  int32_t thread_nice;
  /** Bit i: the worker may run on core i, i < 64. TIMBRE_AUTO_U64 leaves it as inherited. 0 is an error. */
  uint64_t thread_affinity;
  /** The phonemizer's library, e.g. "libespeak-ng.so.1" or a full path. NULL: the machine's. */
  const char *espeak_library;
  /** Folder that holds espeak-ng-data. NULL: the machine's. */
  const char *espeak_data;
} timbre_engine_config;

/** Writes the defaults into the first `struct_size` bytes of `config`. @return TIMBRE_OK or INVALID_ARGUMENT. */
TIMBRE_API timbre_status timbre_engine_config_init(timbre_engine_config *config, uint32_t struct_size);

/**
 * Starts an engine.
 *
 * Cheap: LibTorch, espeak-ng and device libraries are opened when they are first needed.
 *
 * @param config     NULL for the defaults.
 * @param out_engine owned by the caller, given back by timbre_engine_destroy.
 * @return TIMBRE_OK; INVALID_ARGUMENT; NO_DEVICE; UNSUPPORTED; OUT_OF_MEMORY.
 */
TIMBRE_API timbre_status timbre_engine_create(const timbre_engine_config *config, timbre_engine **out_engine);

/**
 * Ends an engine: utterances are cancelled (their readers get CANCELLED), the worker is joined. Waits for at most one
 * chunk of audio. Models and utterances stay valid handles that answer TIMBRE_ERR_CLOSED until they are released.
 *
 * @param engine  NULL is allowed. Dead afterwards.
 */
TIMBRE_API timbre_status timbre_engine_destroy(timbre_engine *engine);

#define TIMBRE_LOG_INFO 0
#define TIMBRE_LOG_WARNING 1
#define TIMBRE_LOG_ERROR 2

/**
 * Takes the oldest log line of this engine. Lines are kept (the last 256) until somebody asks; nothing is ever printed.
 *
 * @param out       receives UTF-8 with a closing zero, cut to `capacity` at a character.
 * @param capacity  in bytes; 0 is an error.
 * @param out_level TIMBRE_LOG_*; may be NULL.
 * @return TIMBRE_OK; TIMBRE_DONE when there is no line; INVALID_ARGUMENT. Any thread.
 */
TIMBRE_API timbre_status timbre_log_next(timbre_engine *engine, char *out, uint64_t capacity, int32_t *out_level);

#ifdef __cplusplus
}
#endif

#endif
