/* SPDX-License-Identifier: Apache-2.0 */

/* Between the two shapes of a trace: a directory with a file a rank, and one packed file. The
 * packed file holds the bytes of all files, their indexes together at its end, so that unpacking
 * gives back the very files. Functions return 0 or a negative errno, and leave what is half-written
 * to the caller to remove.
 */
#pragma once

#include "formats/error.h"

/* Packs the trace at `from` (either shape) into a file `to` that must not exist. With a `level` of
 * zstd other than 0 all is compressed anew at that level: the trace keeps its id. */
int fmt_pack(const char *from, const char *to, int level, struct fmt_error *err);

/* Unpacks the file `from` into a directory `to` that must not exist. */
int fmt_unpack(const char *from, const char *to, struct fmt_error *err);
