/* SPDX-License-Identifier: MIT
 *
 * Status codes, and the marks that every timbre header uses.
 *
 * The numbers are part of the ABI: they never change, and later ones are appended. 0 is success, positive values are
 * information (nothing went wrong), negative values are errors. After an error the calling thread finds what and where
 * (file, tensor, id) in timbre_last_error().
 */
#ifndef TIMBRE_C_STATUS_H
#define TIMBRE_C_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#if defined(TIMBRE_BUILDING)
#define TIMBRE_API __declspec(dllexport)
#else
#define TIMBRE_API __declspec(dllimport)
#endif
#else
#define TIMBRE_API __attribute__((visibility("default")))
#endif

typedef int32_t timbre_status;

#define TIMBRE_OK 0
/** The utterance has ended; no data comes with it. */
#define TIMBRE_DONE 1
/** Nothing is ready yet; ask again. */
#define TIMBRE_PENDING 2

/** An argument is NULL, out of range, not finite, not UTF-8, or contradicts another. */
#define TIMBRE_ERR_INVALID_ARGUMENT (-1)
/** The host has no memory left for this. */
#define TIMBRE_ERR_OUT_OF_MEMORY (-2)
/** A file, voice, model, speaker or plug-in of this name does not exist. */
#define TIMBRE_ERR_NOT_FOUND (-3)
/** A file is there but could not be read. */
#define TIMBRE_ERR_IO (-4)
/** A file is damaged or is not what its name says. */
#define TIMBRE_ERR_FORMAT (-5)
/** Valid, but this build or version does not do it. */
#define TIMBRE_ERR_UNSUPPORTED (-6)
/** A voice and a model do not belong together. */
#define TIMBRE_ERR_MISMATCH (-7)
/** A library of another version is already in this process. */
#define TIMBRE_ERR_INCOMPATIBLE (-8)
/** The device that was asked for does not exist. */
#define TIMBRE_ERR_NO_DEVICE (-9)
/** The utterance or load was cancelled. */
#define TIMBRE_ERR_CANCELLED (-10)
/** The deadline passed. Never terminal: nothing is lost, the call may be repeated. */
#define TIMBRE_ERR_TIMEOUT (-11)
/** The engine behind this handle has been destroyed. */
#define TIMBRE_ERR_CLOSED (-12)
/** The call was made in a forked child of the process that uses timbre. */
#define TIMBRE_ERR_FORKED (-13)
/** A token id outside the model's table, or an unknown symbol where the request asked for an error. */
#define TIMBRE_ERR_INVALID_TOKEN (-14)
/** Something that should not happen; the message says what. */
#define TIMBRE_ERR_INTERNAL (-15)
/** The store holds another version of the voice than the put expected. Nothing has changed. */
#define TIMBRE_ERR_CONFLICT (-16)
/** The device has no memory left for the voice, not even outside the cache's budget. */
#define TIMBRE_ERR_BUDGET (-17)

/* "Let timbre choose": the one sentinel, by field type. 0 is always a value. */
#define TIMBRE_AUTO INT32_MIN
#define TIMBRE_AUTO_I32 INT32_MIN
#define TIMBRE_AUTO_I64 INT64_MIN
#define TIMBRE_AUTO_U32 UINT32_MAX
#define TIMBRE_AUTO_U64 UINT64_MAX
#define TIMBRE_AUTO_F32 (-3.402823466e+38F)

/**
 * The name of a status, "TIMBRE_ERR_NOT_FOUND" for example.
 *
 * @return a static string; "TIMBRE_UNKNOWN_STATUS" for a number that this version does not know. Any thread.
 */
TIMBRE_API const char *timbre_status_name(timbre_status status);

/**
 * What the last failed call on this thread had to say: UTF-8, never NULL, empty before the first failure.
 *
 * A successful call leaves it alone. The pointer is valid until the next failing timbre call on the same thread.
 */
TIMBRE_API const char *timbre_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
