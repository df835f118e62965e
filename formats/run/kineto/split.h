/* SPDX-License-Identifier: Apache-2.0 */

/* Makes one rank for each GPU of a file with several GPUs (README.md). One thread. */
#pragma once

#include "formats/run/kineto/rank.h"

/* Splits the rank at `index`, which is completely read, if its process used several GPUs: it
 * becomes the first of them, and the others are appended. Returns 0, -ENOMEM, -EFBIG for too many
 * GPUs, or -EXDEV if several processes launched operations. */
int kineto_split_by_gpu(struct kineto_import *im, size_t index);

/* Returns the ordinal of a stream's device: its number, or the number at the end of its text; -1 if
 * none. */
int64_t kineto_device_ordinal(const struct fmt_strings *strings, const struct kineto_arg *pid);
