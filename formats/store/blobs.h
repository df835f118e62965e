/* SPDX-License-Identifier: Apache-2.0 */

/* Contents in a trace: the file blobs.chunks, with a chunk for each content (a code image, a buffer
 * at one moment), and one a rank that says which operation read or wrote which. A content is found
 * by its name, its XXH3 of 128 bits, low half first. Functions return 0 or a negative errno.
 */
#pragma once

#include "formats/store/output.h"
#include "formats/store/trace.h"

/* What a content is called. */
void fmt_blob_name(const void *data, size_t len, uint64_t ret[2]);

/* Begins the file in the trace that is being written at `trace`; fmt_output_end() ends it, and
 * fmt_output_done() frees `o` in any case. */
int fmt_blobs_begin(struct fmt_output *o, const char *trace, struct fmt_error *err);

/* Appends a content; each once, by name, so that the same contents make the same file. -EBADMSG:
 * that is not its name. -EFBIG: more than a chunk can hold. */
int fmt_blobs_put(struct fmt_output *o, const uint64_t name[2], const void *data, size_t len,
		  struct fmt_error *err);

/* Appends what the operations of rank `number` read and wrote: digests without pages, in which the
 * name of a content stands for the digest. */
int fmt_blobs_contents(struct fmt_output *o, uint32_t number, const struct fmt_digest *contents,
		       size_t n, struct fmt_error *err);

/* How many contents the trace holds, and the bytes of their file; 0 without one. */
uint64_t fmt_blobs_count(const struct fmt_trace *t, uint64_t *file_bytes);

/* Whether the index knows of such a content. It looks at a quarter of the name: reading tells. */
int fmt_blob_is_there(const struct fmt_trace *t, const uint64_t name[2]);

/* The caller frees *ret. -ENOENT: the trace has no such content. */
int fmt_blob_read(const struct fmt_trace *t, const uint64_t name[2], uint8_t **ret, size_t *len,
		  struct fmt_error *err);

/* The next content, in the order of the file, from *at on, which begins at 0 and moves behind it: 1
 * with its name and the content for the caller to free, or 0 at the end. */
int fmt_blob_next(const struct fmt_trace *t, size_t *at, uint64_t name[2], uint8_t **ret,
		  size_t *len, struct fmt_error *err);

/* What the rank's operations read and wrote; the caller frees *ret. Without any *n is 0. */
int fmt_contents_read(const struct fmt_trace *t, uint32_t rank, struct fmt_digest **ret, size_t *n,
		      struct fmt_error *err);

/* The payload of a chunk FMT_CHUNK_CONTENTS. -EBADMSG: damage. */
int fmt_contents_get(const uint8_t *data, size_t len, struct fmt_digest **ret, size_t *n);

/* What is wrong with a chunk of blobs.chunks; NULL when nothing is. */
const char *fmt_blobs_check(const struct fmt_trace *t, const struct fmt_chunk *c,
			    const uint8_t *raw);
