/* SPDX-License-Identifier: MIT
 *
 * The version of timbre. It stands here and nowhere else; the build reads it from this file.
 */
#ifndef TIMBRE_C_VERSION_H
#define TIMBRE_C_VERSION_H

#include "status.h"

#define TIMBRE_VERSION_MAJOR 0
#define TIMBRE_VERSION_MINOR 1
#define TIMBRE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Version of the library that is loaded, which may be newer than the header that was compiled against.
 *
 * @param out_major, out_minor, out_patch  any may be NULL.
 * @return the version as text, "0.1.0"; static. Any thread.
 */
TIMBRE_API const char *timbre_version(uint32_t *out_major, uint32_t *out_minor, uint32_t *out_patch);

#ifdef __cplusplus
}
#endif

#endif
