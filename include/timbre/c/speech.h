/* SPDX-License-Identifier: MIT
 *
 * Speech: an utterance is opened from a request and its samples are pulled by the host at its own pace.
 *
 * One reader at a time per utterance; cancel, info, marks and timeline may be called from any thread meanwhile.
 * Audio is mono float in [-1, 1]. Each sample is delivered once, and TIMBRE_DONE never carries data.
 */
#ifndef TIMBRE_C_SPEECH_H
#define TIMBRE_C_SPEECH_H

#include "model.h"
#include "voice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct timbre_speech timbre_speech;

#define TIMBRE_UNKNOWN_COUNT 0
#define TIMBRE_UNKNOWN_ERROR 1

/** Seeds are 64 bits and every one is legal, 0 too; this flag asks for a random one, told by timbre_speech_info. */
#define TIMBRE_SPEECH_RANDOM_SEED 1U

/** What to say and how. */
typedef struct timbre_speech_request {
  uint32_t struct_size;
  /** TIMBRE_INPUT_*: which of text (also for phonemes) and ids is used. */
  int32_t input_kind;
  /** UTF-8 text or phonemes, `text_bytes` long. */
  const char *text;
  uint64_t text_bytes;
  /** Token ids, the whole input of the model: nothing is added. At most 2,048. */
  const int32_t *ids;
  uint64_t id_count;

  /** Exactly one of voice, tensors, speaker and lease, or none where the model has one speaker or names a default. */
  const char *voice;
  /** Inline tensors of a voice, as in timbre_voice_record. */
  const timbre_tensor *tensors;
  uint64_t tensor_count;
  uint64_t tensor_size;
  /** TIMBRE_AUTO_I32 = none. Negative or beyond the model's table is INVALID_ARGUMENT. */
  int32_t speaker;

  /** TIMBRE_UNKNOWN_*: symbols that the model does not know are skipped and counted, or are an error. */
  int32_t unknown_symbols;
  /** TIMBRE_AUTO_F32 = the voice's, else the model's. Finite, >= 0; length_scale > 0. */
  float noise_scale;
  float length_scale;
  float noise_w;
  /** Linear factor on the samples, before they are limited to [-1, 1]. Default 1. */
  float gain;
  uint64_t seed;
  /** TIMBRE_SPEECH_*. */
  uint32_t flags;
  /** Silence between sentences in milliseconds, 0..60,000, in whole samples. Default 0. */
  uint32_t sentence_silence_ms;
  /** TIMBRE_AUTO_U32 = the model's rate; else 8,000..192,000, resampled. */
  uint32_t output_sample_rate_hz;
  /** How long one read may wait; -1 = no limit. Default -1. */
  int32_t read_timeout_ms;
  /** Synthesis pauses when this many samples wait to be read, at least 1. TIMBRE_AUTO_U64 = 10 s of audio. */
  uint64_t ring_samples;
  /** Frames per token instead of predicted durations; one for each id, only with TIMBRE_INPUT_IDS. Each 0..65,535; a
   * VITS model takes at most 65,536 in all, and says so at the first read. */
  const int32_t *durations;
  uint64_t duration_count;
  /** A held lease of this engine: the voice is that version of it. The utterance takes a lease of its own. NULL: none.
   */
  const timbre_lease *lease;
} timbre_speech_request;

TIMBRE_API timbre_status timbre_speech_request_init(timbre_speech_request *request, uint32_t struct_size);

/**
 * Begins an utterance. No I/O and no synthesis happens in the call; everything in `request` is copied.
 *
 * @param out_speech owned by the caller, given back by timbre_speech_close.
 * @return TIMBRE_OK; INVALID_ARGUMENT; INVALID_TOKEN (naming index and id); NOT_FOUND (the voice); MISMATCH; CLOSED;
 *         OUT_OF_MEMORY.
 */
TIMBRE_API timbre_status timbre_speech_open(timbre_model *model, const timbre_speech_request *request,
                                            timbre_speech **out_speech);

/**
 * Copies the next samples, waiting until at least one is ready.
 *
 * @param out        room for `capacity` samples.
 * @param capacity   in samples; 0 is an error.
 * @param out_count  samples written: 1..capacity with TIMBRE_OK, else 0.
 * @return TIMBRE_OK; TIMBRE_DONE after the last sample; CANCELLED; TIMEOUT (not terminal); CLOSED; INVALID_ARGUMENT; or
 *         the error that ended the synthesis, again on every later read.
 */
TIMBRE_API timbre_status timbre_speech_read(timbre_speech *speech, float *out, uint64_t capacity, uint64_t *out_count);

/** As timbre_speech_read, but never blocks: TIMBRE_PENDING with 0 samples when none is ready. */
TIMBRE_API timbre_status timbre_speech_try_read(timbre_speech *speech, float *out, uint64_t capacity,
                                                uint64_t *out_count);

/** Ends the utterance from any thread; a waiting reader gets CANCELLED, samples not yet read are dropped. Idempotent.
 */
TIMBRE_API timbre_status timbre_speech_cancel(timbre_speech *speech);

#define TIMBRE_EMPTY_NOT 0
/** The text has no characters at all, or only white space. */
#define TIMBRE_EMPTY_TEXT 1
/** Nothing of the text is known to the model. */
#define TIMBRE_EMPTY_NO_SYMBOL 2

/** What is known of an utterance so far. */
typedef struct timbre_speech_details {
  uint32_t struct_size;
  uint32_t sample_rate_hz;
  uint64_t samples_ready;
  uint64_t samples_read;
  /** TIMBRE_AUTO_U64 until it is known. */
  uint64_t samples_total;
  uint64_t seed;
  /** 0 when no stored voice is used. */
  uint64_t voice_version;
  uint64_t skipped_symbols;
  /** Pieces made because a sentence had more than 2,048 ids. */
  uint64_t split_pieces;
  uint32_t sentence_count;
  int32_t precision;
  /** TIMBRE_EMPTY_*: why there is no audio. */
  int32_t empty_reason;
  /** TIMBRE_PENDING while it runs, TIMBRE_DONE when synthesised in full, else the error that ended it. */
  timbre_status state;
} timbre_speech_details;

/** @param out_details  the caller has set its struct_size. @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. */
TIMBRE_API timbre_status timbre_speech_info(timbre_speech *speech, timbre_speech_details *out_details);

/** When a token sounds: for lip sync and subtitles. */
typedef struct timbre_mark {
  uint32_t struct_size;
  int32_t token;
  uint64_t source_begin;
  uint64_t source_end;
  /** At the output sample rate, from the start of the utterance. */
  uint64_t first_sample;
  uint64_t sample_count;
  uint32_t sentence;
  uint32_t reserved;
} timbre_mark;

/**
 * Copies marks of all sentences whose durations are known.
 *
 * @param first      index of the first mark wanted.
 * @param capacity   elements of `mark_size` bytes at `out`.
 * @param out_count  written.
 * @return TIMBRE_OK; TIMBRE_PENDING with 0 when none beyond `first` is known yet; TIMBRE_DONE with 0 when there are no
 *         more; INVALID_ARGUMENT; CLOSED.
 */
TIMBRE_API timbre_status timbre_speech_marks(timbre_speech *speech, uint64_t first, uint64_t mark_size,
                                             timbre_mark *out, uint64_t capacity, uint64_t *out_count);

/** Where the time went, in microseconds, summed over the sentences so far. TIMBRE_AUTO_U64 = has not happened yet. */
typedef struct timbre_speech_times {
  uint32_t struct_size;
  uint32_t chunk_count;
  /** From open until a worker took it first. */
  uint64_t queue_us;
  uint64_t text_us;
  uint64_t encoder_us;
  uint64_t durations_us;
  uint64_t flow_us;
  uint64_t decoder_us;
  /** From open until the first sample could be read. */
  uint64_t first_audio_us;
  /** From open until the last sample could be read. */
  uint64_t total_us;
  /** Time that readers spent waiting. */
  uint64_t read_wait_us;
} timbre_speech_times;

/** @param out_times  the caller has set its struct_size. @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. */
TIMBRE_API timbre_status timbre_speech_timeline(timbre_speech *speech, timbre_speech_times *out_times);

/** One chunk of audio on the timeline. */
typedef struct timbre_chunk {
  uint32_t struct_size;
  uint32_t sentence;
  /** At the output sample rate, from the start of the utterance. A resampler may hand a chunk's last samples on late.
   */
  uint64_t first_sample;
  uint64_t sample_count;
  uint64_t flow_us;
  uint64_t decoder_us;
  /** From open until its samples could be read. */
  uint64_t ready_us;
} timbre_chunk;

/**
 * Copies chunks that are ready; parameters and results as timbre_speech_marks().
 */
TIMBRE_API timbre_status timbre_speech_chunks(timbre_speech *speech, uint64_t first, uint64_t chunk_size,
                                              timbre_chunk *out, uint64_t capacity, uint64_t *out_count);

/** Cancels what still runs, waits for at most one chunk, and frees the handle. NULL is allowed. */
TIMBRE_API timbre_status timbre_speech_close(timbre_speech *speech);

#ifdef __cplusplus
}
#endif

#endif
