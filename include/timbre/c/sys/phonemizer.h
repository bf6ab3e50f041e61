/* SPDX-License-Identifier: MIT
 *
 * Extension ABI (weaker promise than the c/ headers, own version): what a phonemizer plug-in offers.
 *
 * A plug-in exports one symbol, timbre_phonemizer_v1, of type timbre_phonemizer_entry. All functions may be called from
 * any thread; a plug-in with global state takes its own lock. Nothing may be printed and no exception may leave.
 */
#ifndef TIMBRE_C_SYS_PHONEMIZER_H
#define TIMBRE_C_SYS_PHONEMIZER_H

#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIMBRE_PHONEMIZER_ABI 1

/** One clause of a text. */
typedef struct timbre_clause {
  uint32_t struct_size;
  /** The punctuation that ends it as a Unicode code point: one of . , ? ! : ; or 0 for none (a plain break). */
  uint32_t terminator;
  /** 1 if a sentence ends here. */
  int32_t ends_sentence;
  uint32_t reserved;
  /** Source bytes of the clause, inside the text given. */
  uint64_t source_begin;
  uint64_t source_end;
  /** IPA as UTF-8, without the terminator; owned by the caller, filled by the plug-in up to `phonemes_capacity`. */
  char *phonemes;
  uint64_t phonemes_capacity;
  /** Bytes needed; if more than the capacity, nothing was consumed and the call may be repeated with more room. */
  uint64_t phonemes_size;
} timbre_clause;

typedef struct timbre_phonemizer {
  uint32_t struct_size;
  uint32_t abi;
  /**
   * Opens the phonemizer. @param library, data_path  NULL for the machine's.
   * @param error  receives why it failed, `error_capacity` bytes with the closing zero.
   */
  timbre_status (*open)(const char *library, const char *data_path, void **out_self, char *error,
                        uint64_t error_capacity);
  /** Checks that a voice (language) exists. NOT_FOUND with its name otherwise. */
  timbre_status (*check_voice)(void *self, const char *voice, char *error, uint64_t error_capacity);
  /**
   * Turns the next clause of `text` into phonemes, beginning at byte *inout_offset, and moves the offset behind it.
   * @return TIMBRE_OK; TIMBRE_DONE when nothing is left; an error.
   */
  timbre_status (*next_clause)(void *self, const char *voice, const char *text, uint64_t text_bytes,
                               uint64_t *inout_offset, timbre_clause *inout_clause, char *error,
                               uint64_t error_capacity);
  void (*close)(void *self);
} timbre_phonemizer;

/** The plug-in's one export. The table is static. */
typedef const timbre_phonemizer *(*timbre_phonemizer_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
