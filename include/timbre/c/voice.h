/* SPDX-License-Identifier: MIT
 *
 * Voices: named tensors under an id, bound to the model that they fit. They are kept in a store, cached in the device's
 * memory, and used through leases: while one is held, the voice's bytes neither move nor change.
 */
#ifndef TIMBRE_C_VOICE_H
#define TIMBRE_C_VOICE_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIMBRE_DTYPE_F32 1
#define TIMBRE_DTYPE_F16 2
#define TIMBRE_DTYPE_BF16 3
#define TIMBRE_DTYPE_I32 4
#define TIMBRE_DTYPE_I64 5

/** One named tensor, dense, row-major, little endian. Its data is copied by the call that takes it. */
typedef struct timbre_tensor {
  uint32_t struct_size;
  /** TIMBRE_DTYPE_*. */
  int32_t dtype;
  /** "g" is the speaker vector [voice_dim] of a VITS model. 1..64 bytes. */
  const char *name;
  const void *data;
  /** Bytes at `data`; must equal the product of the shape times the element size. */
  uint64_t size_bytes;
  /** 0..4. */
  uint32_t rank;
  uint32_t reserved;
  int64_t shape[4];
} timbre_tensor;

/** What is put under an id. */
typedef struct timbre_voice_record {
  uint32_t struct_size;
  /** Size of one element of `tensors`, normally sizeof(timbre_tensor). */
  uint32_t tensor_size;
  const timbre_tensor *tensors;
  /** At most 64, each of at most 64 MiB. */
  uint64_t tensor_count;
  /** The model this voice fits, 32 hex digits as timbre_model_info tells. NULL: it may be kept but not spoken. */
  const char *model_fingerprint;
  /** Which encoder made the vector; free text, NULL if unknown. */
  const char *encoder;
  /** BCP 47 language tag; NULL if unknown. */
  const char *language;
  /** Free text: licence, origin. NULL for none. */
  const char *note;
  /** Speaker of the model for a record without tensors; TIMBRE_AUTO_I32 = none. */
  int32_t speaker;
  /** 1 if vectors are L2-normalised, 0 if not. */
  int32_t normalised;
  /** Sample rate the voice was made at, in Hz; 0 if unknown. */
  uint32_t sample_rate_hz;
  /** Default scales of this voice; TIMBRE_AUTO_F32 = the model's. */
  float noise_scale;
  float length_scale;
  float noise_w;
} timbre_voice_record;

TIMBRE_API timbre_status timbre_voice_record_init(timbre_voice_record *record, uint32_t struct_size);

typedef struct timbre_voice_put_options {
  uint32_t struct_size;
  /** 1: kept only in this engine's memory, never written to the store. */
  int32_t ephemeral;
  /** The version that must be there for the put to happen; 0: none may be; TIMBRE_AUTO_U64 (default): whatever is. */
  uint64_t expected_version;
} timbre_voice_put_options;

TIMBRE_API timbre_status timbre_voice_put_options_init(timbre_voice_put_options *options, uint32_t struct_size);

/**
 * Stores a voice, or a new version of it. Utterances that already run keep the version they began with.
 *
 * @param id          1..512 bytes UTF-8.
 * @param options     NULL for the defaults.
 * @param out_version rises with each put; may be NULL.
 * @return TIMBRE_OK; INVALID_ARGUMENT (naming the tensor: not finite, wrong size, no tensors and no model, ...);
 *         MISMATCH where the model of that fingerprint is loaded in this engine and the record does not fit it;
 *         CONFLICT (another version is there than expected); OUT_OF_MEMORY; CLOSED; of a store on disk also IO (full,
 *         read-only), FORMAT (damaged), TIMEOUT (others held it for 5 s). Any thread.
 */
TIMBRE_API timbre_status timbre_voice_put(timbre_engine *engine, const char *id, const timbre_voice_record *record,
                                          const timbre_voice_put_options *options, uint64_t *out_version);

/** Removes a voice, an ephemeral and a stored one. Utterances that run and leases keep it. @return TIMBRE_OK;
 * NOT_FOUND; INVALID_ARGUMENT; of a store on disk also IO, FORMAT, TIMEOUT. Any thread. */
TIMBRE_API timbre_status timbre_voice_remove(timbre_engine *engine, const char *id);

/**
 * Lists ids in byte order, one page at a time.
 *
 * @param prefix       only ids that begin with it; NULL or "" for all.
 * @param cursor       the last id of the page before, NULL or "" for the first page.
 * @param out_ids      receives ids, each with a closing zero, one after the other.
 * @param capacity     bytes at out_ids. If not even one id fits: INVALID_ARGUMENT, out_size = the bytes it needs.
 * @param out_size     bytes written.
 * @param out_count    ids written; 0 at the end.
 * @return TIMBRE_OK; TIMBRE_DONE (with 0) after the last page; INVALID_ARGUMENT. Any thread.
 */
TIMBRE_API timbre_status timbre_voice_list(timbre_engine *engine, const char *prefix, const char *cursor, char *out_ids,
                                           uint64_t capacity, uint64_t *out_size, uint64_t *out_count);

/**
 * A right to use one version of one voice. Not a pointer; it may be copied, but is given back once: by
 * timbre_voice_release or _release_on, through whichever copy. Giving it back again is INVALID_ARGUMENT and changes
 * nothing, as long as the engine or another lease of it lives. A lease may outlive its engine.
 */
typedef struct timbre_lease {
  /** Lives until the engine is destroyed and its last lease is given back. NULL: no lease. */
  void *owner;
  uint64_t token;
} timbre_lease;

/**
 * Leases a voice, loading it if it must be: callers that want the same voice at once share one load. A cached voice
 * takes no lock and no allocation. There is never another voice in its place.
 *
 * @param timeout_ms  how long this call may wait for the load, -1 = no limit; the load goes on for others.
 * @param out_lease   no lease unless TIMBRE_OK.
 * @return TIMBRE_OK; NOT_FOUND; TIMEOUT (nothing is lost, ask again); INVALID_ARGUMENT; FORMAT (what the store holds
 *         passes no check); IO; BUDGET (the device is out of memory); OUT_OF_MEMORY; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_voice_get(timbre_engine *engine, const char *id, int32_t timeout_ms,
                                          timbre_lease *out_lease);

/** As timbre_voice_get, but never waits: TIMBRE_PENDING where the voice is not here yet. Asking again goes on with the
 * load. */
TIMBRE_API timbre_status timbre_voice_try_get(timbre_engine *engine, const char *id, timbre_lease *out_lease);

/**
 * One timbre_voice_get for each of `count` ids, in one wait: all loads begin before any is waited for.
 *
 * @param ids           an id may be there more than once.
 * @param timeout_ms    for the whole call.
 * @param out_leases    `count` leases; no lease where the row failed.
 * @param out_statuses  `count` statuses, of each row.
 * @return TIMBRE_OK if every row has a lease, else the status of the first row that has none; its message tells the id.
 */
TIMBRE_API timbre_status timbre_voice_get_batch(timbre_engine *engine, const char *const *ids, uint64_t count,
                                                int32_t timeout_ms, timbre_lease *out_leases,
                                                timbre_status *out_statuses);

/** What a lease tells of its voice. Strings live as long as the lease. */
typedef struct timbre_voice_details {
  uint32_t struct_size;
  uint32_t tensor_count;
  /** Version of the voice: told apart by both numbers. */
  uint64_t version;
  uint64_t checksum;
  /** Bytes of all tensors, as they lie in the device's memory. */
  uint64_t size_bytes;
  /** 32 hex digits, or "". */
  const char *model_fingerprint;
  /** TIMBRE_AUTO_I32 = none. */
  int32_t speaker;
  int32_t normalised;
  uint32_t sample_rate_hz;
  /** TIMBRE_AUTO_F32 = the model's. */
  float noise_scale;
  float length_scale;
  float noise_w;
} timbre_voice_details;

/** @param out_details  the caller has set its struct_size. @return TIMBRE_OK; INVALID_ARGUMENT (no lease). Any thread.
 */
TIMBRE_API timbre_status timbre_voice_info(const timbre_lease *lease, timbre_voice_details *out_details);

/** Name of tensor `index` of a leased voice, in the order of its record; valid as long as the lease.
 * @return TIMBRE_OK; INVALID_ARGUMENT. */
TIMBRE_API timbre_status timbre_voice_tensor_name(const timbre_lease *lease, uint32_t index, const char **out_name);

/**
 * A tensor of a leased voice, in the device's memory (with device "cpu" in this process's own).
 *
 * @param name        of the tensor.
 * @param out_tensor  the caller has set its struct_size. `data` and `name` are valid as long as the lease; nobody may
 *                    write there.
 * @return TIMBRE_OK; NOT_FOUND (no tensor of that name; the message lists those there are); INVALID_ARGUMENT.
 */
TIMBRE_API timbre_status timbre_voice_tensor(const timbre_lease *lease, const char *name, timbre_tensor *out_tensor);

/**
 * Exports a tensor of a leased voice by DLPack 1.x, without a copy. The export is a lease of its own: it lives until
 * its deleter is called, whatever becomes of `lease` and of the engine.
 *
 * The tensor is marked READ_ONLY. When the export ends its bytes are checked: a voice that somebody wrote into goes
 * from the cache, is counted in timbre_stats.written_exports, and is loaded anew.
 *
 * @param out_managed  a DLManagedTensorVersioned *, owned by the caller, who ends it by its deleter.
 * @return as timbre_voice_tensor; OUT_OF_MEMORY.
 */
TIMBRE_API timbre_status timbre_voice_dlpack(const timbre_lease *lease, const char *name, void **out_managed);

/**
 * Makes work that is given to `stream` from now on wait until the voice's bytes are on the device. (They are when the
 * lease is given today: the call is for devices that answer sooner.)
 *
 * @param stream  the device's own handle (a CUstream); 0: its default stream. With device "cpu" only 0.
 * @return TIMBRE_OK; INVALID_ARGUMENT; IO (the device failed).
 */
TIMBRE_API timbre_status timbre_voice_wait_on(const timbre_lease *lease, uint64_t stream);

/** Gives a lease back; `lease` becomes no lease. @return TIMBRE_OK; INVALID_ARGUMENT (it was given back before, or is
 * none). Any thread. */
TIMBRE_API timbre_status timbre_voice_release(timbre_lease *lease);

/** Gives back a lease that work on `stream` may still use: its bytes stay until the stream has passed this point.
 * `stream` and errors as in timbre_voice_wait_on; after an error the lease is still held. */
TIMBRE_API timbre_status timbre_voice_release_on(timbre_lease *lease, uint64_t stream);

/**
 * Brings voices into the cache before they are asked for, where they displace none that was used.
 *
 * @param timeout_ms  how long this call may wait; what is left then goes on in the background.
 * @param out_ready   voices that are there now; may be NULL.
 * @param out_failed  voices that are not to be had; the log tells why of the first. May be NULL.
 * @return TIMBRE_OK; TIMBRE_PENDING where some are still being loaded; INVALID_ARGUMENT; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_voice_prefetch(timbre_engine *engine, const char *const *ids, uint64_t count,
                                               int32_t timeout_ms, uint64_t *out_ready, uint64_t *out_failed);

/** The same for the `count` voices that were used most lately, at most 256. */
TIMBRE_API timbre_status timbre_voice_prefetch_top(timbre_engine *engine, uint64_t count, int32_t timeout_ms,
                                                   uint64_t *out_ready, uint64_t *out_failed);

#define TIMBRE_TIER_NONE 0
#define TIMBRE_TIER_STORE 1
#define TIMBRE_TIER_HOST 2
#define TIMBRE_TIER_DEVICE 3

#define TIMBRE_CAUSE_NONE 0
#define TIMBRE_CAUSE_ROOM 1
#define TIMBRE_CAUSE_BUDGET 2
#define TIMBRE_CAUSE_TRIM 3
#define TIMBRE_CAUSE_REMOVED 4
#define TIMBRE_CAUSE_REPLACED 5
#define TIMBRE_CAUSE_CLEARED 6

/** Why a voice is where it is. */
typedef struct timbre_voice_explanation {
  uint32_t struct_size;
  /** TIMBRE_TIER_*: the fastest tier that has the voice; NONE where not even the store has it, or a load is under way.
   */
  int32_t tier;
  /** Of the voice in that tier. */
  uint64_t version;
  uint64_t checksum;
  uint64_t size_bytes;
  /** Leases on it that are out. */
  uint64_t leases;
  /** TIMBRE_CAUSE_*: why it last left the device's cache, and how long ago; NONE: it did not, or that is forgotten. */
  int32_t eviction_cause;
  /** 1: it is being loaded. */
  int32_t loading;
  uint64_t eviction_age_ms;
  /** 1: the store was asked within the last second and had no such voice. */
  int32_t known_missing;
  /** Uses that are remembered, 0..15: of a sample, halved from time to time. */
  uint32_t recent_uses;
} timbre_voice_explanation;

/**
 * Tells where a voice is, who holds it, and why it went. For people: it may read the store, and changes nothing.
 *
 * @param out  the caller has set its struct_size.
 * @return TIMBRE_OK, also for a voice that nobody has; INVALID_ARGUMENT; the store's errors; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_voice_explain(timbre_engine *engine, const char *id, timbre_voice_explanation *out);

#ifdef __cplusplus
}
#endif

#endif
