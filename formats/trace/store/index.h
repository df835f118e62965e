/* SPDX-License-Identifier: Apache-2.0 */

/* The index of a file: copies of its header and of the headers of its chunks, by column. Also the
 * index of a packed file: its members. Each is one skippable frame directly before the footer. */
#pragma once

#include "formats/trace/store/chunk.h"

/* `chunks` are in file order and without gaps after the file header. */
int fmt_index_put(struct text *t, const struct fmt_file_header *h, const struct fmt_chunk *chunks,
		  size_t n);
/* Decodes the index of a file of `file_bytes` bytes, which limits the number of chunks. The caller
 * frees *ret. `hash` is not in the index and not set. */
int fmt_index_get(const uint8_t *data, size_t len, uint64_t file_bytes,
		  struct fmt_file_header *header, struct fmt_chunk **ret, size_t *n,
		  const char **why);

#define FMT_MEMBER_NAME_BYTES 64

struct fmt_member_span {
	char name[FMT_MEMBER_NAME_BYTES];
	uint64_t data_bytes,
		tail_bytes; /* data and tails of members are each contiguous in the file */
};

/* Returns 1 if a file of a trace may have that name: letters, digits, '-', '_' and, except as first
 * character, '.'. Unpacking creates files with these names, and messages print them. */
int fmt_is_member_name(const char *name, size_t len);

int fmt_members_put(struct text *t, const struct fmt_member_span *members, size_t n);
/* Decodes the index of a packed file of `file_bytes` bytes, which limits the number of members. The
 * caller frees *ret. */
int fmt_members_get(const uint8_t *data, size_t len, uint64_t file_bytes,
		    struct fmt_member_span **ret, size_t *n, const char **why);
