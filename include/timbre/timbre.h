/* SPDX-License-Identifier: MIT
 *
 * timbre's C API, whole.
 */
#ifndef TIMBRE_TIMBRE_H
#define TIMBRE_TIMBRE_H

#include "c/engine.h"
#include "c/model.h"
#include "c/speech.h"
#include "c/status.h"
#include "c/version.h"
#include "c/voice.h"

#endif
