/* SPDX-License-Identifier: Apache-2.0 */

/* Contents in a trace: the file blobs.chunks, with a chunk for each content (a code image, a buffer
 * at one moment), and one a rank that says which operation read or wrote which. A content is found
 * by its name, its XXH3 of 128 bits, low half first. Functions return 0 or a negative errno.
 */
#pragma once

#include "formats/trace/store/output.h"
#include "formats/trace/store/trace.h"

/* Computes the name of a content. */
void fmt_blob_name(const void *data, size_t len, uint64_t ret[2]);

/* Appends a content to `o`, from fmt_writer_blobs(); each once, by name, so that the same contents
 * make the same file. -EBADMSG: that is not its name. -EFBIG: more than a chunk can hold. */
int fmt_blobs_put(struct fmt_output *o, const uint64_t name[2], const void *data, size_t len,
		  struct fmt_error *err);

/* Appends the digests of what the operations of rank `number` read and wrote, without pages; the
 * name of a content replaces the digest. */
int fmt_blobs_contents(struct fmt_output *o, uint32_t number, const struct fmt_digest *contents,
		       size_t n, struct fmt_error *err);

/* Returns the number of contents, and the bytes of their file (0 without one) in *file_bytes. */
uint64_t fmt_blobs_count(const struct fmt_trace *t, uint64_t *file_bytes);

/* Whether the index lists a content whose name has the same low 32 bits. Reading it tells whether
 * it is the same content. */
int fmt_blob_is_there(const struct fmt_trace *t, const uint64_t name[2]);

/* Reads a content; the caller frees *ret. -ENOENT: the trace has no such content. */
int fmt_blob_read(const struct fmt_trace *t, const uint64_t name[2], uint8_t **ret, size_t *len,
		  struct fmt_error *err);

/* Reads the list of contents that the rank's operations read and wrote; the caller frees *ret. *n
 * is 0 without a list. */
int fmt_contents_read(const struct fmt_trace *t, uint32_t rank, struct fmt_digest **ret, size_t *n,
		      struct fmt_error *err);

/* Decodes the payload of a chunk FMT_CHUNK_CONTENTS. -EBADMSG: damage. */
int fmt_contents_get(const uint8_t *data, size_t len, struct fmt_digest **ret, size_t *n);

/* Splits the payload of a chunk FMT_CHUNK_BLOB into the name and the content, in place. -EBADMSG:
 * the name is not that of the content. */
int fmt_blob_open(const struct fmt_chunk *chunk, const uint8_t *raw, uint64_t name[2],
		  struct fmt_cursor *content);
