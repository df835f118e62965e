/* SPDX-License-Identifier: Apache-2.0 */

/* One rank for each GPU of a file that has several. One thread. */
#pragma once

#include "formats/run/kineto/rank.h"

/* Divides the rank at `index`, which has been read to its end, where owner.h finds several GPUs in
 * it: it becomes the first of them, and the others are appended. Errors are those of
 * kineto_owners_find(). */
int kineto_split(struct kineto_import *im, size_t index);

/* After all files have been read: gives each GPU of a process the iterations of the others, and the
 * collectives that shared threads called. 0 or -ENOMEM. */
int kineto_share(struct kineto_import *im);
