/* SPDX-License-Identifier: Apache-2.0 */

/* Explains why nothing was recorded, as far as known. */
#pragma once

#include "capture/recorder/recorder.h"

/* Prints the reason in one line; `program` is the command. */
void capture_unseen_print(const struct rec_recorder *recorder, const char *program);
