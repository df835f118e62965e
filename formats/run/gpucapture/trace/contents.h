/* SPDX-License-Identifier: Apache-2.0 */

/* Contents on their way from a folder of files into the trace: code images, and what operations
 * read and wrote. Each is stored once, in the order of their names. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/part.h"
#include "formats/trace/error.h"

/* Why a content is not in the trace. */
enum rec_contents_reason {
	REC_CONTENTS_ABSENT,	/* it was named, and is not there, or cannot be read */
	REC_CONTENTS_DAMAGED,	/* it is not what it is called */
	REC_CONTENTS_LARGE,	/* than what a chunk can hold */
	REC_CONTENTS_UNWRITTEN, /* the library had no room for it */
	REC_CONTENTS_REASONS,
};

struct rec_contents_result {
	uint64_t kept, kept_bytes, missing[REC_CONTENTS_REASONS];
};

/* The path of a content in a folder of them. */
void rec_contents_path(const char *folder, const uint64_t hash[2], char *ret, size_t cap);

/* Writes the trace's contents, if there are any: the images of the processes, and the contents that
 * were read of each rank; missing ones are dropped from these. `folder` has the files. The
 * names get the facts about images and about missing contents; `ret` is added to. 0 or a negative
 * errno. */
int rec_contents_write(const char *folder, struct fmt_writer *writer,
		       struct rec_process *const *processes, size_t n_processes,
		       struct fmt_run_reading *read, const struct rec_ranks *ranks,
		       struct fmt_names *names, struct rec_contents_result *ret,
		       struct fmt_error *err);
