/* SPDX-License-Identifier: Apache-2.0 */

/* Converts between the two forms of a trace: a directory with one file per rank, and one packed
 * file. The packed file contains the bytes of all files, with their indexes together at its end;
 * unpacking restores the same files. Functions return 0 or a negative errno, and leave an
 * incomplete output for the caller to remove. */
#pragma once

#include "formats/trace/error.h"

/* Packs the trace at `from` (either form) into the file `to`, which must not exist. If the zstd
 * `level` is not 0, everything is recompressed at that level; the trace keeps its id. A damaged
 * trace is packed unchanged, or refused if a level is given. */
int fmt_pack(const char *from, const char *to, int level, struct fmt_error *err);

/* Unpacks the file `from` into the directory `to`, which must not exist. A damaged file is unpacked
 * unchanged. */
int fmt_unpack(const char *from, const char *to, struct fmt_error *err);
