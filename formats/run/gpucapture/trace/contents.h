/* SPDX-License-Identifier: Apache-2.0 */

/* Copies contents from a folder of files into the trace: code images, and buffers that operations
 * read and wrote. Stores each content once, sorted by name. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/rank_data.h"
#include "formats/trace/error.h"

/* Why a content is not in the trace. */
enum rec_contents_reason {
	REC_CONTENTS_ABSENT,	/* named, but its file is missing or unreadable */
	REC_CONTENTS_DAMAGED,	/* does not match its name */
	REC_CONTENTS_LARGE,	/* larger than a chunk */
	REC_CONTENTS_UNWRITTEN, /* the capture library had no space for it */
	REC_CONTENTS_REASONS,
};

struct rec_contents_result {
	uint64_t kept, kept_bytes, missing[REC_CONTENTS_REASONS];
};

/* Makes the path of a content in its folder. */
void rec_contents_path(const char *folder, const uint64_t hash[2], char *ret, size_t cap);

/* Writes the contents of the trace, if any: images of the processes and the contents read for each
 * rank. Drops references to missing contents from `read`. Adds facts about images and missing
 * contents to `names`, and counts to `ret`. Returns 0 or a negative errno. */
int rec_contents_write(const char *folder, struct fmt_writer *writer,
		       struct rec_process *const *processes, size_t n_processes,
		       struct fmt_rank_data_reader *read, const struct rec_ranks *ranks,
		       struct fmt_names *names, struct rec_contents_result *ret,
		       struct fmt_error *err);
