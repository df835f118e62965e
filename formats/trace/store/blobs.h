/* SPDX-License-Identifier: Apache-2.0 */

/* Contents in a trace: the file blobs.chunks, with a chunk for each content (a code image, or a
 * buffer at one point of a stream), and a chunk per rank that lists the contents that operations
 * read or wrote. A content is found by its name, its 128-bit XXH3, low half first. Functions return
 * 0 or a negative errno. */
#pragma once

#include "formats/trace/store/output.h"
#include "formats/trace/store/trace.h"

/* Computes the name of a content. */
void fmt_blob_name(const void *data, size_t len, uint64_t ret[2]);

/* Appends a content to `o`, from fmt_writer_blobs(). Add each content once, sorted by name, so that
 * the same contents make the same file. -EBADMSG: the name does not match. -EFBIG: larger than a
 * chunk. */
int fmt_blobs_put(struct fmt_output *o, const uint64_t name[2], const void *data, size_t len,
		  struct fmt_error *err);

/* Appends the list of contents that the operations of rank `number` read and wrote, as digests
 * without pages in which the content's name replaces the digest. */
int fmt_blobs_contents(struct fmt_output *o, uint32_t number, const struct fmt_digest *contents,
		       size_t n, struct fmt_error *err);

/* Returns the number of contents, and the size of their file (0 if none) in *file_bytes. */
uint64_t fmt_blobs_count(const struct fmt_trace *t, uint64_t *file_bytes);

/* Returns 1 if the index lists a content whose name has the same low 32 bits. Only reading it shows
 * whether it is the same content. */
int fmt_blob_is_listed(const struct fmt_trace *t, const uint64_t name[2]);

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
 * the name does not match the content. */
int fmt_blob_open(const struct fmt_chunk *chunk, const uint8_t *raw, uint64_t name[2],
		  struct fmt_cursor *content);
