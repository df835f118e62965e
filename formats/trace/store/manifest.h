/* SPDX-License-Identifier: Apache-2.0 */

/* The manifest of a trace, in its file trace.chunks, which is written last. It lists every other
 * file by name with the root of its chunks, so that a reader detects a file that is missing, added
 * or from another trace. A trace whose writer was killed has no manifest. Functions return 0 or a
 * negative errno. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/store/index.h"
#include "formats/trace/store/merkle.h"

#define FMT_TRACE_NAME "trace.chunks"

/* Makes the name of the file with that header: "trace.chunks"; "rank-00003.chunks" for rank number
 * 3. */
void fmt_file_name(const struct fmt_file_header *h, char ret[FMT_MEMBER_NAME_BYTES]);
/* Appends the file's path in the directory `trace`, NUL-terminated. Returns 0 or -ENOMEM. */
int fmt_file_path(struct text *path, const char *trace, const struct fmt_file_header *h);
/* Recognises the name of a trace's file. Returns 1 and its kind, with the number of a rank; or
 * 0. */
int fmt_member_kind(const char *name, enum fmt_file_kind *kind, uint32_t *number);

struct fmt_manifest_entry {
	char name[FMT_MEMBER_NAME_BYTES];
	uint8_t root[FMT_SHA_BYTES];
	int found; /* 1: the trace has a file of that name; set by the reader of a trace */
};

struct fmt_manifest {
	struct fmt_manifest_entry *entries; /* owned */
	size_t n, cap;
};

void fmt_manifest_done(struct fmt_manifest *m);

/* Appends an entry. The caller adds the ranks by number, then blobs.chunks: the id depends on the
 * order. */
int fmt_manifest_add(struct fmt_manifest *m, const char *name, const uint8_t root[FMT_SHA_BYTES]);

/* Appends the payload of a chunk FMT_CHUNK_MANIFEST. */
void fmt_manifest_put(const struct fmt_manifest *m, struct text *out);

/* Decodes that payload into *ret, sorted by name. -EBADMSG: damage. */
int fmt_manifest_get(const uint8_t *data, size_t len, struct fmt_manifest *ret);

/* Finds an entry by name, or NULL; for a manifest from fmt_manifest_get(). */
struct fmt_manifest_entry *fmt_manifest_find(const struct fmt_manifest *m, const char *name);
