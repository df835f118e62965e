/* SPDX-License-Identifier: Apache-2.0 */

/* Makes one rank for each GPU of a file with several GPUs. One thread. */
#pragma once

#include "formats/run/kineto/rank.h"

/* Splits the rank at `index`, which is completely read, if owner.h finds several GPUs in it: it
 * becomes the first of them, and the others are appended. Errors are those of
 * kineto_owners_find(). */
int kineto_split_by_gpu(struct kineto_import *im, size_t index);

/* After all files are read: copies iterations, and collectives that shared threads called, to every
 * GPU of a process. Returns 0 or -ENOMEM. */
int kineto_copy_shared(struct kineto_import *im);
