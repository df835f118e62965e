/* SPDX-License-Identifier: Apache-2.0 */

/* One file of a trace as it is written: header, chunks, index and footer. A chunk is handed to the
 * kernel by one write(2), so that a killed writer leaves whole chunks but the last. Used by one
 * thread at a time. Functions return 0 or a negative errno and then say more in *err. */
#pragma once

#include "formats/error.h"
#include "formats/store/chunk.h"
#include "formats/store/merkle.h"

struct fmt_output {
	int fd;
	int lent_fd; /* 1: the file is a part of what is written to fd, which is another's */
	char *path;  /* owned; for messages */
	struct fmt_file_header header;
	uint64_t bytes; /* written so far */
	struct fmt_chunk *chunks;
	size_t n_chunks, chunks_cap;
	struct fmt_merkle tree;
	struct text buf; /* the chunk in the making */
};

/* Creates `path`, which must not exist, and writes the header. */
int fmt_output_open(struct fmt_output *o, const char *path, const struct fmt_file_header *h,
		    struct fmt_error *err);
/* The same, as the next part of what is written to `fd`, which is not closed. */
int fmt_output_part(struct fmt_output *o, int fd, const char *path, const struct fmt_file_header *h,
		    struct fmt_error *err);
/* Packs and appends a chunk; c->type, slice and what follows it are the caller's to set. `cuts` as
 * in fmt_frame_pack(). */
int fmt_output_chunk(struct fmt_output *o, struct fmt_chunk *c, const char *raw, const size_t *cuts,
		     size_t n_cuts, int level, struct fmt_error *err);
/* Appends parity for the chunk that was appended last. */
int fmt_output_parity(struct fmt_output *o, int level, struct fmt_error *err);
/* Appends index and footer to `tail`. */
int fmt_output_tail(struct fmt_output *o, struct text *tail, struct fmt_error *err);
/* Writes index and footer. */
int fmt_output_end(struct fmt_output *o, struct fmt_error *err);
/* Frees; a file that was not ended stays as it is. */
void fmt_output_done(struct fmt_output *o);

/* Adds to the tree what identifies a file, and a chunk; parity says nothing of its own. */
int fmt_identify_file(struct fmt_merkle *m, const struct fmt_file_header *h);
int fmt_identify_chunk(struct fmt_merkle *m, const struct fmt_chunk *c, const void *raw);
