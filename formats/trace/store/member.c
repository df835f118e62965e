/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/member.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/index.h"
#include "formats/trace/store/scan.h"

#include <stdbool.h>

/* Bytes read together at the end of a file: the footer and usually the whole index. */
#define TAIL 65536

/* Maximum number of errors kept: each new one is compared with all of them. */
#define DAMAGE_MOST 4096

void fmt_damage_add(struct fmt_damage *d, const struct fmt_error *e)
{
	if (d->n == DAMAGE_MOST)
		return;
	for (size_t i = 0; i < d->n; i++)
		if (d->errors[i].offset == e->offset && strcmp(d->errors[i].file, e->file) == 0)
			return;
	if (array_reserve(&d->errors, d->n + 1, &d->cap) == 0)
		d->errors[d->n++] = *e;
}

static void note_damage(struct fmt_damage *d, const char *path, uint64_t offset, const char *what)
{
	struct fmt_error e;

	fmt_fail(&e, -EBADMSG, path, offset, "%s", what);
	fmt_damage_add(d, &e);
}

/* Sets the message for an unreadable file; returns `r`. */
static int unreadable_file(int r, const char *path, uint64_t at, struct fmt_error *err)
{
	if (r == -ENOTSUP)
		return fmt_fail(err, r, path, at, "written by a newer version of the format");
	return fmt_fail(err, r, path, at, "cannot read: %s", strerror(-r));
}

/* Opens the file by footer and index. Returns 1, or 0 if these are missing or damaged, with *why
 * and *at. */
static int open_by_index(struct fmt_member *m, int fd, uint64_t *at, const char **why)
{
	uint64_t bytes = m->source.bytes, index_at;
	size_t len = bytes < TAIL ? (size_t)bytes : TAIL;
	scoped(free_ptr) uint8_t *tail = malloc(len + 1), *more = NULL;
	const uint8_t *index;
	struct fmt_footer f;
	long n;
	int r;

	if (!tail)
		return -ENOMEM;
	*at = bytes;
	*why = "ends without a footer";
	n = fmt_source_read(&m->source, fd, tail, len, bytes - len);
	if (n < 0)
		return (int)n;
	if ((size_t)n < len || len < FMT_FOOTER_BYTES)
		return 0;
	*at = bytes - FMT_FOOTER_BYTES;
	r = fmt_footer_get(tail + len - FMT_FOOTER_BYTES, FMT_FOOTER_BYTES, &f, why);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	*why = "the footer does not fit the file";
	if (f.index_bytes > bytes - FMT_FOOTER_BYTES)
		return 0;
	memcpy(m->root, f.root, sizeof(m->root));
	m->has_root = 1;
	*at = index_at = bytes - FMT_FOOTER_BYTES - f.index_bytes;
	index = tail + len - FMT_FOOTER_BYTES - f.index_bytes;
	if (f.index_bytes + FMT_FOOTER_BYTES > len) {
		more = malloc(f.index_bytes);
		if (!more)
			return -ENOMEM;
		n = fmt_source_read(&m->source, fd, more, f.index_bytes, index_at);
		if (n < 0 || (uint64_t)n < f.index_bytes)
			return n < 0 ? (int)n : 0;
		index = more;
	}
	r = fmt_index_get(index, f.index_bytes, bytes, &m->header, &m->chunks, &m->n_chunks, why);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	if (m->n_chunks > 0) {
		const struct fmt_chunk *last = &m->chunks[m->n_chunks - 1];

		if (last->offset + last->header_bytes + last->frame_bytes == index_at)
			m->index_bytes = f.index_bytes;
	} else if (index_at == FMT_FILE_HEADER_BYTES) {
		m->index_bytes = f.index_bytes;
	}
	if (m->index_bytes)
		return 1;
	free(take(m->chunks));
	m->n_chunks = 0;
	*why = "the index does not fit the file";
	return 0;
}

/* Records that the bytes before the frame may have been a chunk, unless they were the file header
 * or a part of the index, which ends at the footer. */
static void note_lost(struct fmt_member *m, const struct fmt_frame *f)
{
	bool header = f->lost_at == 0 && f->lost_bytes == FMT_FILE_HEADER_BYTES;

	if (f->lost_bytes > 0 && !m->lost_why && !header) {
		m->lost_why = f->why;
		m->lost_at = f->lost_at;
	}
	if (f->tag == 'E' && m->lost_why && f->footer.index_bytes <= f->offset &&
	    m->lost_at >= f->offset - f->footer.index_bytes)
		m->lost_why = NULL;
}

/* Opens the file by scanning its frames. Skipped bytes are added to `d`. */
static int open_by_scan(struct fmt_member *m, int fd, const char *path, struct fmt_damage *d,
			struct fmt_error *err)
{
	scoped(fmt_scan_done) struct fmt_scan scan;
	struct fmt_frame f;
	size_t cap = 0;
	int known = 0, ended = m->has_root, r;

	fmt_scan_init(&scan, &m->source, fd);
	while ((r = fmt_scan_next(&scan, &f)) == 1) {
		if (f.lost_bytes > 0)
			note_damage(d, path, f.lost_at, f.why);
		if (f.tag == 'F' || f.tag == 'I') {
			m->header = f.file;
			known = 1;
		}
		ended |= f.tag == 'I' || f.tag == 'E';
		if (f.tag == 'E') {
			memcpy(m->root, f.footer.root, sizeof(m->root));
			m->has_root = 1;
		}
		note_lost(m, &f);
		if (f.tag != 'C')
			continue;
		if (array_reserve(&m->chunks, m->n_chunks + 1, &cap) < 0)
			return -ENOMEM;
		m->chunks[m->n_chunks++] = f.chunk;
	}
	if (r < 0)
		return unreadable_file(r, path, scan.at, err);
	if (!known)
		return fmt_fail(err, -EBADMSG, path, 0,
				m->n_chunks == 0 ? "not a trace"
						 : "file header and index are damaged");
	if (!ended)
		scan.why = "truncated";
	if (!ended && !m->lost_why) {
		m->lost_why = scan.why;
		m->lost_at = scan.end;
	}
	if (scan.why)
		note_damage(d, path, scan.end, scan.why);
	return 0;
}

int fmt_member_open(struct fmt_member *m, const char *path, struct fmt_damage *d,
		    struct fmt_error *err)
{
	int fd = fmt_source_open(&m->source);
	const char *why = NULL;
	uint64_t at = 0;
	int r;

	if (fd < 0)
		return fmt_fail(err, fd, path, FMT_NO_OFFSET, "cannot open: %s", strerror(-fd));
	r = open_by_index(m, fd, &at, &why);
	if (r == 0) {
		if (m->has_root)
			note_damage(d, path, at, why);
		r = open_by_scan(m, fd, path, d, err);
	} else if (r == 1) {
		r = 0;
	} else {
		unreadable_file(r, path, at, err);
	}
	fmt_source_close(&m->source, fd);
	return r;
}

void fmt_member_done(struct fmt_member *m)
{
	free(m->chunks);
	fmt_source_done(&m->source);
	memset(m, 0, sizeof(*m));
}

/* Reads the bytes of a chunk with its header. The caller frees *ret. */
static int read_bytes(const struct fmt_member *m, const char *path, const struct fmt_chunk *c,
		      uint8_t **ret, struct fmt_error *err)
{
	uint64_t bytes = c->header_bytes + c->frame_bytes;
	scoped(free_ptr) uint8_t *data = NULL;
	long n;
	int fd;

	if (c->offset > m->source.bytes || bytes > m->source.bytes - c->offset)
		return fmt_fail(err, -EBADMSG, path, c->offset, "truncated in a chunk");
	data = malloc(bytes ? bytes : 1);
	if (!data)
		return fmt_fail(err, -ENOMEM, path, c->offset, "out of memory");
	fd = fmt_source_open(&m->source);
	n = fd < 0 ? fd : fmt_source_read(&m->source, fd, data, bytes, c->offset);
	fmt_source_close(&m->source, fd);
	/* If the file system cannot read these bytes, only this chunk is lost, as with damaged
	 * bytes. */
	if (n < 0)
		return fmt_fail(err, n == -EIO ? -EBADMSG : (int)n, path, c->offset,
				"cannot read: %s", strerror((int)-n));
	if ((uint64_t)n < bytes)
		return fmt_fail(err, -EBADMSG, path, c->offset, "truncated in a chunk");
	*ret = take(data);
	return 0;
}

static int same_counts(const struct fmt_chunk *a, const struct fmt_chunk *b)
{
	return memcmp(a->n_records, b->n_records, sizeof(a->n_records)) == 0 &&
	       a->n_edges == b->n_edges && a->n_digests == b->n_digests;
}

/* Compares the bytes of a chunk with its own header, and the header with the index. */
static int check_bytes(const uint8_t *data, const struct fmt_chunk *c, struct fmt_chunk *header,
		       const char **why)
{
	uint64_t bytes = c->header_bytes + c->frame_bytes;
	int r = fmt_chunk_header_get(data, bytes, header, why);

	if (r < 0)
		return r;
	if (header->header_bytes != c->header_bytes || header->type != c->type ||
	    header->frame_bytes != c->frame_bytes || header->slice != c->slice ||
	    (c->type == FMT_CHUNK_SLICE && !same_counts(header, c))) {
		*why = "a chunk header that differs from the index";
		return -EBADMSG;
	}
	if (fmt_hash(data + c->header_bytes, c->frame_bytes) != header->hash) {
		*why = "a chunk fails its checksum";
		return -EBADMSG;
	}
	return 0;
}

static int unpack(const struct fmt_chunk *c, const uint8_t *frame, uint8_t **ret, const char **why)
{
	if (fmt_chunk_is_oversized(c)) {
		*why = "chunk too large";
		return -EBADMSG;
	}
	return fmt_frame_unpack(frame, c->frame_bytes, c->raw_bytes, ret, why);
}

int fmt_member_read(const struct fmt_member *m, const char *path, struct fmt_chunk *c,
		    uint8_t **ret, struct fmt_error *err)
{
	scoped(free_ptr) uint8_t *data = NULL;
	struct fmt_chunk header;
	const char *why = "";
	int r = read_bytes(m, path, c, &data, err);

	if (r < 0)
		return r;
	r = check_bytes(data, c, &header, &why);
	if (r == 0) {
		header.offset = c->offset;
		*c = header;
		r = unpack(c, data + c->header_bytes, ret, &why);
	}
	if (r == -ENOMEM)
		why = "out of memory";
	return r < 0 ? fmt_fail(err, r, path, c->offset, "%s", why) : 0;
}
