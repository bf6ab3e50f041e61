/* SPDX-License-Identifier: MIT
 *
 * Models: loaded once, shared by all utterances, independent of voices.
 */
#ifndef TIMBRE_C_MODEL_H
#define TIMBRE_C_MODEL_H

#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct timbre_model timbre_model;

/**
 * One part of a model, on disk or in memory.
 *
 * A part is known by its name: `name` where given, else the last component of `path`.
 *   - "tone:" (as name or path): the deterministic tone synthesizer, no file, alone (22,050 Hz, 4 speakers, voice_dim
 *     16).
 *   - A folder (path): a Hugging Face VITS folder.
 *   - X.onnx: a Piper graph; X.onnx.json beside it is found by itself when it came by path.
 *   - *.onnx.json, *.json: its configuration; config.json, vocab.json, tokenizer_config.json, special_tokens_map.json
 *     and added_tokens.json for Hugging Face.
 *   - X.safetensors beside an .onnx: a patch that adds or replaces tensors (original VITS names).
 *   - X.safetensors otherwise: the weights.
 *   - Any other name: external data that the graph refers to by this name.
 */
typedef struct timbre_model_file {
  uint32_t struct_size;
  uint32_t reserved;
  /** May be NULL when `path` is given. */
  const char *name;
  /** A file or a folder; NULL when `data` is given. */
  const char *path;
  /** Bytes in memory; only read during the call. */
  const void *data;
  uint64_t size_bytes;
} timbre_model_file;

/**
 * Progress of a load, called on the thread that called timbre_model_load.
 *
 * @param fraction  0..1.
 * @param stage     "read", "build", "warm-up", "ready".
 * @return 0 to go on, anything else to cancel.
 */
typedef int32_t (*timbre_load_progress)(void *user, float fraction, const char *stage);

typedef struct timbre_model_options {
  uint32_t struct_size;
  /** 1: run a short utterance so that the first real one is not slower. Default 1. */
  int32_t warm_up;
  timbre_load_progress progress;
  void *progress_user;
} timbre_model_options;

TIMBRE_API timbre_status timbre_model_options_init(timbre_model_options *options, uint32_t struct_size);

/**
 * Loads a model. Blocks until it is ready; the callback shows progress and can end it.
 *
 * @param files      the parts; a single folder or .onnx path is the common case.
 * @param count      number of parts, 1..64.
 * @param file_size  sizeof(timbre_model_file) of the caller.
 * @param options    NULL for the defaults.
 * @param out_model  owned by the caller, given back by timbre_model_release.
 * @return TIMBRE_OK; NOT_FOUND, IO, FORMAT, UNSUPPORTED, MISMATCH (each names the file and tensor); INCOMPATIBLE when
 *         another LibTorch is mapped; CANCELLED; OUT_OF_MEMORY; INVALID_ARGUMENT; CLOSED.
 */
TIMBRE_API timbre_status timbre_model_load(timbre_engine *engine, const timbre_model_file *files, uint64_t count,
                                           uint64_t file_size, const timbre_model_options *options,
                                           timbre_model **out_model);

/** Facts about a loaded model. Strings live as long as the model handle. */
typedef struct timbre_model_details {
  uint32_t struct_size;
  uint32_t sample_rate_hz;
  /** Speakers in the model's own table; 1 for a single-speaker model. */
  uint32_t speaker_count;
  /** Length of a voice's vector "g"; 0: this model takes no conditioning. */
  uint32_t voice_dim;
  /** Samples that one frame becomes. */
  uint32_t hop_samples;
  /** Token ids are 0..token_count-1. */
  uint32_t token_count;
  float noise_scale;
  float length_scale;
  float noise_w;
  /** TIMBRE_PRECISION_FP32 or _BF16: what is really used. */
  int32_t precision;
  /** 32 hex digits. */
  const char *fingerprint;
  /** "piper", "hf-vits", "tone". */
  const char *family;
  /** Name from the file, may be empty. */
  const char *name;
  /** "cpu". What is really used. */
  const char *device;
  /** "avx2", "avx512", "avx512-bf16", "amx" or "default": the best instruction set this processor offers. */
  const char *instruction_set;
  /** What text goes through: "espeak", "text", "characters", "none". */
  const char *front_end;
  /** Language of the front end, may be empty. */
  const char *language;
} timbre_model_details;

/**
 * @param out_details  the caller has set its struct_size; no more than that is written.
 * @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. Any thread.
 */
TIMBRE_API timbre_status timbre_model_info(timbre_model *model, timbre_model_details *out_details);

/** Name of a speaker of the model, valid as long as the handle. @return TIMBRE_OK; INVALID_ARGUMENT; CLOSED. */
TIMBRE_API timbre_status timbre_model_speaker_name(timbre_model *model, int32_t speaker, const char **out_name);

/**
 * Copies a speaker's vector "g", so that it can be put as a voice or blended.
 *
 * @param capacity  in floats, at least voice_dim.
 * @return TIMBRE_OK; INVALID_ARGUMENT (speaker out of range, too little room); UNSUPPORTED (no conditioning); CLOSED.
 */
TIMBRE_API timbre_status timbre_model_speaker_vector(timbre_model *model, int32_t speaker, float *out,
                                                     uint64_t capacity, uint64_t *out_count);

#define TIMBRE_INPUT_TEXT 0
#define TIMBRE_INPUT_PHONEMES 1
#define TIMBRE_INPUT_IDS 2

/** One token of the model's input. */
typedef struct timbre_token {
  uint32_t struct_size;
  int32_t id;
  /** Source bytes: of its word where the front end can tell, else of its clause. begin == end for inserted tokens. */
  uint64_t source_begin;
  uint64_t source_end;
  uint32_t sentence;
  uint32_t reserved;
} timbre_token;

/**
 * Shows what a text becomes.
 *
 * Call with capacity 0 to learn the count.
 *
 * @param text        UTF-8, `text_bytes` long.
 * @param input_kind  TIMBRE_INPUT_TEXT or TIMBRE_INPUT_PHONEMES.
 * @param out         `capacity` elements of `token_size` bytes; written as far as they fit. May be NULL with 0.
 * @param out_count   tokens in all.
 * @param out_skipped symbols that the model does not know; may be NULL.
 * @return TIMBRE_OK; INVALID_ARGUMENT (not UTF-8); NOT_FOUND (no phonemizer on this machine); UNSUPPORTED; CLOSED.
 */
TIMBRE_API timbre_status timbre_model_tokenize(timbre_model *model, const char *text, uint64_t text_bytes,
                                               int32_t input_kind, uint64_t token_size, timbre_token *out,
                                               uint64_t capacity, uint64_t *out_count, uint64_t *out_skipped);

/** Gives the handle back; utterances that run keep the model. NULL is allowed. */
TIMBRE_API timbre_status timbre_model_release(timbre_model *model);

#ifdef __cplusplus
}
#endif

#endif
