/* SPDX-License-Identifier: MIT
 *
 * The engine: owns the worker threads, the voice cache and store and, through them, every model and utterance made from
 * it.
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

/**
 * How an engine is made. Threads it may start: one worker, named `thread_name`, and `thread_count - 1` OpenMP helpers;
 * and unless `background` is 0 one that sleeps but for a moment each second (each 250 ms with a store on disk), named
 * as the worker with "-bg" behind it.
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
  /** Where voices are kept: "memory:" (gone with the engine), or "sqlite:PATH", a library on disk that several engines
   * and processes may use at once (docs/store.md). Other addresses are TIMBRE_ERR_UNSUPPORTED. NULL = "memory:". */
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
  /** The most bytes of device memory that cached voices may take. 0 works: every voice is loaded when it is asked for.
   * TIMBRE_AUTO_U64: what free memory allows. */
  uint64_t device_cache_bytes;
  /** The same for the tier in host memory between device and store. With device "cpu" the two are one, and this must be
   * TIMBRE_AUTO_U64. */
  uint64_t host_cache_bytes;
  /** Which voice goes when room is needed: "lru", "lfu", "s3fifo", "auto". NULL = "auto". docs/cache-policies.md. */
  const char *policy;
  /** 1 (default): a thread of the engine sizes the cache and ends loads that nobody waits for. 0: the host calls
   * timbre_engine_poll for that. What other processes write to the store is seen through one of the two. */
  int32_t background;
  /** How many of the voices that were used most in earlier runs are loaded at the start, in the background; at most
   * 256. TIMBRE_AUTO_U64: 64. */
  uint64_t preheat_count;
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
 * @return TIMBRE_OK; INVALID_ARGUMENT; NO_DEVICE; UNSUPPORTED; OUT_OF_MEMORY; of a store on disk also NOT_FOUND, IO,
 *         FORMAT (the file is something else), TIMEOUT (others hold it).
 */
TIMBRE_API timbre_status timbre_engine_create(const timbre_engine_config *config, timbre_engine **out_engine);

/**
 * Ends an engine: utterances are cancelled (their readers get CANCELLED), the worker is joined. Waits for at most one
 * chunk of audio. Models and utterances stay valid handles that answer TIMBRE_ERR_CLOSED until they are released.
 *
 * @param engine  NULL is allowed. Dead afterwards.
 */
TIMBRE_API timbre_status timbre_engine_destroy(timbre_engine *engine);

/**
 * The most bytes that cached voices may take from now on; TIMBRE_AUTO_U64: what free memory allows. Less is in force
 * when the call returns, but that leased voices stay; more is taken as memory is read to be free.
 *
 * @param host_bytes  as timbre_engine_config.host_cache_bytes.
 * @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_engine_set_budget(timbre_engine *engine, uint64_t device_bytes, uint64_t host_bytes);

/**
 * Gives memory of cached voices back now, the coldest first; leased voices stay. The cache takes it again only slowly.
 *
 * @param bytes      at least so many, if leases allow it; TIMBRE_AUTO_U64: all.
 * @param out_freed  bytes that went; may be NULL.
 * @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. Any thread. Waits for no device.
 */
TIMBRE_API timbre_status timbre_engine_trim(timbre_engine *engine, uint64_t bytes, uint64_t *out_freed);

/**
 * Does the background work of the cache until nothing is left to do or the time is over: readings of free memory (one a
 * second at most), loads that nobody waits for, leases given back on streams. For hosts that set
 * timbre_engine_config.background to 0, about ten times a second; harmless for others.
 *
 * @param timeout_ms  0: what can be done without waiting; -1: no limit.
 * @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_engine_poll(timbre_engine *engine, int32_t timeout_ms);

/** Counters of the cache of voices since the engine was made, and bytes at this moment. */
typedef struct timbre_stats {
  uint32_t struct_size;
  uint32_t reserved;
  /** Voices in the cache, and leases that are out. */
  uint64_t entries;
  uint64_t leases;
  uint64_t hits;
  uint64_t misses;
  uint64_t inserts;
  /** Entries that went because there was no room, for a smaller budget, at a trim. */
  uint64_t evicted_for_room;
  uint64_t evicted_for_budget;
  uint64_t evicted_for_trim;
  /** Entries that were put again, removed, or cleared. */
  uint64_t replaced;
  uint64_t removed;
  /** Bytes that the cache may hold, holds, and holds for leases; bytes of old versions that are still leased; bytes
   * outside the budget, where all in it was leased; and the largest voice that came in without an eviction. */
  uint64_t budget_bytes;
  uint64_t held_bytes;
  uint64_t leased_bytes;
  uint64_t retired_bytes;
  uint64_t transient_bytes;
  uint64_t largest_free_bytes;
  /** Host memory of the cache itself, beside the voices. */
  uint64_t overhead_bytes;
  /** Reads of the store that were begun; that failed; that found no such voice; and misses answered without a read
   * because the voice was looked for within the last second. */
  uint64_t loads;
  uint64_t load_failures;
  uint64_t not_found;
  uint64_t negative_hits;
  /** Records of the store that did not pass their checks; exported rows that somebody wrote into. */
  uint64_t refused_records;
  uint64_t written_exports;
  /** Of a store on disk, else 0: voices that other processes have put or removed; loads that found damage; bytes of its
   * write-ahead log; removals whose bytes are still in that log, because a reader needs it. */
  uint64_t store_changes;
  uint64_t store_damaged_loads;
  uint64_t store_log_bytes;
  uint64_t store_pending_erasures;
} timbre_stats;

/**
 * Walks all entries: not for every frame.
 *
 * @param out_stats  the caller has set its struct_size; no more than that is written.
 * @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_engine_stats(timbre_engine *engine, timbre_stats *out_stats);

/** How the cache's memory is sized, and why. */
typedef struct timbre_health {
  uint32_t struct_size;
  /** 1: a reading of free memory failed or was impossible, and the cache goes by the last one it trusts. */
  int32_t memory_unreadable;
  /** What the budget is now, what the host allows at most, and what the cache holds, and holds for leases. */
  uint64_t budget_bytes;
  uint64_t cap_bytes;
  uint64_t held_bytes;
  uint64_t leased_bytes;
  /** The last reading, of the whole device or machine (or of this process's control group): free and in all. */
  uint64_t free_bytes;
  uint64_t total_bytes;
  /** Bytes that the cache leaves free. */
  uint64_t headroom_bytes;
  /** The last change of the budget: from, to, and how long ago. */
  uint64_t change_from_bytes;
  uint64_t change_to_bytes;
  uint64_t change_age_ms;
  /** Why it is so, in a few words ("cap", "pressure", ...); docs/budget.md. A static string. */
  const char *reason;
  const char *change_reason;
  uint64_t readings;
  uint64_t failed_readings;
  uint64_t impossible_readings;
  uint64_t shrinks;
  uint64_t grows;
  /** Readings that allowed less than leases hold. */
  uint64_t floor_hits;
  /** 1: the store on disk can only be read. */
  int32_t store_read_only;
  /** 1: its log is above 64 MiB, because a reader needs it. */
  int32_t store_log_over_limit;
  /** Background work on the store that failed; the log tells why. */
  uint64_t store_failures;
  /** How long ago others' writes were last looked for with success; TIMBRE_AUTO_U64: nobody else writes. */
  uint64_t store_look_age_ms;
} timbre_health;

/**
 * @param out_health  the caller has set its struct_size; no more than that is written.
 * @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_engine_health(timbre_engine *engine, timbre_health *out_health);

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
