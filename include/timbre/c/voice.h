/* SPDX-License-Identifier: MIT
 *
 * Voices: named tensors under an id, bound to the model that they fit.
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
 *         OUT_OF_MEMORY; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_voice_put(timbre_engine *engine, const char *id, const timbre_voice_record *record,
                                          const timbre_voice_put_options *options, uint64_t *out_version);

/** Removes a voice. Utterances that run keep it. @return TIMBRE_OK; NOT_FOUND; INVALID_ARGUMENT. Any thread. */
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

#ifdef __cplusplus
}
#endif

#endif
