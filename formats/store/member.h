/* SPDX-License-Identifier: Apache-2.0 */

/* One file of a trace as a reader knows it: which chunks it has, where, and what is wrong. */
#pragma once

#include "formats/error.h"
#include "formats/store/chunk.h"
#include "formats/store/source.h"

struct fmt_member {
	struct fmt_source source;
	struct fmt_file_header header;
	struct fmt_chunk *chunks; /* owned; in the order of the file */
	size_t n_chunks;
	uint64_t index_bytes; /* of the index, if it was used */
	uint8_t root[32];
	int has_root;
	int cut_off;
};

struct fmt_damage {
	struct fmt_error *errors; /* owned */
	size_t n, cap;
};

/* Adds one; without memory for it, or where thousands are there, it is lost. */
void fmt_damage_add(struct fmt_damage *d, const struct fmt_error *e);

/* Learns what `m->source` holds, by its index, or by a scan where that is missing or damaged; what
 * is damaged goes to `d`. `path` is for messages. -EBADMSG: not a file of a trace. */
int fmt_member_open(struct fmt_member *m, const char *path, struct fmt_damage *d,
		    struct fmt_error *err);
void fmt_member_done(struct fmt_member *m);

/* Reads and checks chunk `c`; the caller frees *ret, which holds c->raw_bytes. *c becomes what its
 * header says. 0; or 1 if it was damaged and could be repaired by the parity behind it, and *err
 * says what was wrong; or -errno. */
int fmt_member_read(const struct fmt_member *m, const char *path, struct fmt_chunk *c,
		    uint8_t **ret, struct fmt_error *err);
