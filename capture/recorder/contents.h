/* SPDX-License-Identifier: Apache-2.0 */

/* Contents on their way from the session folder into the trace: code images, and what operations
 * read and wrote. Each is stored once, in the order of their names. One thread. */
#pragma once

#include "capture/recorder/part.h"
#include "formats/error.h"

/* How many were stored, and how many were named but could not be read, or are not what they are
 * called, or are too large. */
struct rec_contents_result {
	uint64_t kept, missing;
};

/* Writes the contents of the trace at `trace`, if there are any: the images of the processes, and
 * what the readings of the ranks have taken, which is dropped there where it is missing. `folder`
 * is the session's. 0 or a negative errno. */
int rec_contents_write(const char *folder, const char *trace, struct rec_process *const *processes,
		       size_t n_processes, struct rec_reading *readings, uint32_t n_ranks,
		       struct rec_contents_result *ret, struct fmt_error *err);
