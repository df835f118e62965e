/* SPDX-License-Identifier: Apache-2.0 */

/* One file of a trace while it is written: header, chunks, index and footer. Each chunk is written
 * by one write(2), so that a killed writer leaves complete chunks except for the last one. For one
 * thread at a time. Functions return 0 or a negative errno and describe the error in *err. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/store/chunk.h"
#include "formats/trace/store/merkle.h"

struct fmt_output {
	int fd;
	int lent_fd; /* 1: the file is a part of a packed file; the caller owns fd */
	char *path;  /* owned; for messages */
	struct fmt_file_header header;
	uint64_t bytes; /* written so far */
	struct fmt_chunk *chunks;
	size_t n_chunks, chunks_cap;
	struct fmt_merkle tree;
	struct text buf;	     /* the current chunk */
	uint8_t root[FMT_SHA_BYTES]; /* root of the tree; set by fmt_output_tail() */
};

/* Creates `path`, which must not exist, and writes the header. */
int fmt_output_open(struct fmt_output *o, const char *path, const struct fmt_file_header *h,
		    struct fmt_error *err);
/* Writes the header as the next part of a packed file; the caller keeps `fd`. */
int fmt_output_part(struct fmt_output *o, int fd, const char *path, const struct fmt_file_header *h,
		    struct fmt_error *err);
/* Compresses and appends a chunk. The caller sets c->type, c->slice and the following members. */
int fmt_output_chunk(struct fmt_output *o, struct fmt_chunk *c, const char *raw, size_t len,
		     int level, struct fmt_error *err);
/* Appends index and footer to `tail`. */
int fmt_output_tail(struct fmt_output *o, struct text *tail, struct fmt_error *err);
/* Writes index and footer. */
int fmt_output_end(struct fmt_output *o, struct fmt_error *err);
/* Frees memory. An incomplete file remains on disk. */
void fmt_output_done(struct fmt_output *o);

/* Writes all bytes; continues after signals. */
int fmt_write_all(int fd, const char *data, size_t len);

/* Add a file, or a chunk, to the tree of the identity. */
int fmt_merkle_add_file(struct fmt_merkle *m, const struct fmt_file_header *h);
int fmt_merkle_add_chunk(struct fmt_merkle *m, const struct fmt_chunk *c, const void *raw);
