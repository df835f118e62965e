/* SPDX-License-Identifier: Apache-2.0 */

/* One file of a trace for reading: its chunks, their offsets, and its damage. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/store/chunk.h"
#include "formats/trace/store/source.h"

struct fmt_member {
	struct fmt_source source;
	struct fmt_file_header header;
	struct fmt_chunk *chunks; /* owned; in the order of the file */
	size_t n_chunks;
	uint64_t index_bytes; /* size of the index; 0 if it was not used */
	uint8_t root[32];
	int has_root;
	const char *lost_why; /* why unlisted chunks may be missing, for example after truncation;
				 NULL: none are missing */
	uint64_t lost_at;     /* offset of the first missing chunk */
};

struct fmt_damage {
	struct fmt_error *errors; /* owned */
	size_t n, cap;
};

/* Adds an error, unless there is one at that offset. Keeps several thousand at most. */
void fmt_damage_add(struct fmt_damage *d, const struct fmt_error *e);

/* Lists the chunks of `m->source` by its index, or by a scan if the index is missing or damaged.
 * Damage is added to `d`. `path` is for messages. -EBADMSG: not a file of a trace. */
int fmt_member_open(struct fmt_member *m, const char *path, struct fmt_damage *d,
		    struct fmt_error *err);
void fmt_member_done(struct fmt_member *m);

/* Reads and checks chunk `c`; the caller frees *ret, which has c->raw_bytes bytes. Sets *c from the
 * chunk's header. -EBADMSG: damage. */
int fmt_member_read(const struct fmt_member *m, const char *path, struct fmt_chunk *c,
		    uint8_t **ret, struct fmt_error *err);
