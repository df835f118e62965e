/* SPDX-License-Identifier: Apache-2.0 */

/* Why nothing was recorded, as far as it can be known. */
#pragma once

#include "capture/recorder/recorder.h"

/* Says so in one line; `program` is what was run. */
void capture_unseen_say(const struct rec_recorder *recorder, const char *program);
