/* SPDX-License-Identifier: Apache-2.0 */

/* Converts between the two shapes of a trace: a directory with a file a rank, and one packed file.
 * The packed file holds the bytes of all files, with their indexes together at its end; unpacking
 * gives back the same files. Functions return 0 or a negative errno, and leave an incomplete output
 * for the caller to remove. */
#pragma once

#include "formats/trace/error.h"

/* Packs the trace at `from` (either shape) into the file `to`, which must not exist. With a `level`
 * of zstd other than 0 everything is compressed again at that level; the trace keeps its id. A
 * damaged trace is packed as it is; with a level it is refused. */
int fmt_pack(const char *from, const char *to, int level, struct fmt_error *err);

/* Unpacks the file `from` into the directory `to`, which must not exist. A damaged file is unpacked
 * as it is. */
int fmt_unpack(const char *from, const char *to, struct fmt_error *err);
