/* SPDX-License-Identifier: Apache-2.0 */

/* The index of a file: its header and the headers of its chunks again, by column; and that of a
 * packed file: its members. Each is one skippable frame, right before the footer. */
#pragma once

#include "formats/store/chunk.h"

/* `chunks` are in the order of the file and without gaps behind the file header. */
int fmt_index_put(struct text *t, const struct fmt_file_header *h, const struct fmt_chunk *chunks,
		  size_t n);
/* The caller frees *ret. `hash` is not in the index, and not set. Of a file of `file_bytes`: it has
 * no more chunks than that. */
int fmt_index_get(const uint8_t *data, size_t len, uint64_t file_bytes,
		  struct fmt_file_header *header, struct fmt_chunk **ret, size_t *n,
		  const char **why);

struct fmt_member_place {
	char name[64];
	uint64_t data_bytes, tail_bytes; /* members stand one after another, and so do the tails */
};

/* Whether a file of a trace can be called so: letters, digits, '-', '_' and, but for the first,
 * '.': the name becomes a file's where a trace is unpacked, and is shown. */
int fmt_is_member_name(const char *name, size_t len);

int fmt_members_put(struct text *t, const struct fmt_member_place *members, size_t n);
/* The caller frees *ret. Of a file of `file_bytes`: it has no more members than that. */
int fmt_members_get(const uint8_t *data, size_t len, uint64_t file_bytes,
		    struct fmt_member_place **ret, size_t *n, const char **why);
