/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the files of a mount, except the timelines, into a folder. */
#pragma once

#include "formats/trace/store/part.h"
#include "tools/damage.h"

/* `folder` must exist and be empty. Files that cannot be rendered because the trace is damaged are
 * counted in part->left_out, which must be set, and the damage is added to `damage`. Returns 0 or a
 * negative errno; then `failed` (of `size` bytes) contains the name of the file. -EINVAL for a GPU
 * without an iteration: a mount has no such directory. */
int export_tables(const struct fmt_trace *trace, const struct fmt_part *part, const char *folder,
		  struct damage *damage, char *failed, size_t size, struct fmt_error *err);
