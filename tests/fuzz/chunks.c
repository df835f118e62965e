/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/chunks.h"

#include "base/scope.h"
#include "formats/trace/store/scan.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* The frame of a header: magic and length before the tag and body, the hash after them. */
#define FRAME_BYTES 8
#define HASH_BYTES 8

/* Reads a length and that many bytes. */
static struct fmt_cursor part(struct fmt_cursor *c)
{
	uint64_t n = fmt_varint(c);
	const uint8_t *bytes = fmt_bytes(c, n);

	return fmt_cursor(bytes, c->bad ? 0 : n);
}

static void header(struct text *t, uint8_t tag, const struct fmt_cursor *body)
{
	size_t start = t->len;

	fmt_header_begin(t, tag);
	text_bytes(t, (const char *)body->at, fmt_left(body));
	fmt_header_end(t, start);
}

/* Writes a chunk if its header is valid. */
static int seal_chunk(const struct fmt_cursor *body, const struct fmt_cursor *raw, struct text *t)
{
	scoped(text_done) struct text head = {0}, frame = {0};
	struct fmt_chunk c;
	const char *why;
	size_t cut = fmt_left(raw);
	int r;

	header(&head, 'C', body);
	if (head.error || fmt_chunk_header_get((const uint8_t *)head.data, head.len, &c, &why) < 0)
		return head.error;
	r = fmt_frame_pack(&frame, (const char *)raw->at, &cut, 1, 1);
	if (r < 0)
		return r;
	c.frame_bytes = frame.len;
	c.raw_bytes = cut;
	c.hash = fmt_hash(frame.data, frame.len);
	fmt_chunk_header_put(t, &c);
	text_bytes(t, frame.data, frame.len);
	return t->error;
}

int chunks_seal(const uint8_t *data, size_t len, struct text *packed)
{
	static const struct fmt_file_header whole = {.kind = FMT_FILE_PACKED};
	struct fmt_cursor c = fmt_cursor(data, len);
	int r = 0;

	fmt_file_header_put(packed, &whole);
	while (r == 0 && fmt_left(&c) > 0) {
		uint8_t tag = fmt_u8(&c);
		struct fmt_cursor body = part(&c), raw = {0};

		if (tag == 'C')
			raw = part(&c);
		if (c.bad || (tag != 'C' && tag != 'F'))
			break;
		if (tag == 'C')
			r = seal_chunk(&body, &raw, packed);
		else
			header(packed, tag, &body);
	}
	return r < 0 ? r : packed->error;
}

/* ---- from a packed file to rows */

static int read_at(int fd, uint64_t offset, uint64_t n, uint8_t **ret)
{
	*ret = malloc(n + 1);
	if (!*ret)
		return -ENOMEM;
	return pread(fd, *ret, n, (off_t)offset) == (ssize_t)n ? 0 : -EIO;
}

static void put_part(struct text *t, const uint8_t *bytes, size_t n)
{
	fmt_put_varint(t, n);
	text_bytes(t, (const char *)bytes, n);
}

static int unseal_frame(int fd, const struct fmt_frame *f, struct text *rows)
{
	scoped(free_ptr) uint8_t *frame = NULL, *raw = NULL;
	uint64_t head = f->tag == 'C' ? f->chunk.header_bytes : f->bytes;
	const char *why;
	int r = read_at(fd, f->offset, f->bytes, &frame);

	if (r == 0 && f->tag == 'C')
		r = fmt_frame_unpack(frame + head, f->chunk.frame_bytes, f->chunk.raw_bytes, &raw,
				     &why);
	if (r < 0)
		return r;
	text_char(rows, (char)f->tag);
	put_part(rows, frame + FRAME_BYTES + 1, head - FRAME_BYTES - 1 - HASH_BYTES);
	if (f->tag == 'C')
		put_part(rows, raw, f->chunk.raw_bytes);
	return rows->error;
}

int chunks_unseal(const char *path, struct text *rows)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(fmt_scan_done) struct fmt_scan scan = {0};
	struct fmt_source s = {.fd = fd};
	struct fmt_frame f;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	s.bytes = s.data_bytes = (uint64_t)st.st_size;
	fmt_scan_init(&scan, &s, fd);
	while ((r = fmt_scan_next(&scan, &f)) == 1) {
		bool wanted = f.tag == 'C' || (f.tag == 'F' && f.offset > 0);

		r = wanted ? unseal_frame(fd, &f, rows) : 0;
		if (r < 0)
			return r;
	}
	return r;
}
