/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/spool.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/chunk.h"

#include <fcntl.h>

#define CHUNK_BYTES (4u << 20) /* of pieces; a chunk has one more */
#define CHUNK_TYPE 0xf0	       /* none of a trace's */
#define LEVEL 1

static int open_file(const char *path, int flags, struct rec_spool *ret)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd < 0)
		return -errno;
	*ret = (struct rec_spool){.fd = fd};
	return 0;
}

int rec_spool_create(const char *path, struct rec_spool *ret)
{
	return open_file(path, O_CREAT | O_EXCL, ret);
}

int rec_spool_open(const char *path, struct rec_spool *ret)
{
	return open_file(path, 0, ret);
}

void rec_spool_done(struct rec_spool *s)
{
	close_fd(&s->fd);
	text_done(&s->pieces);
	*s = (struct rec_spool){.fd = -1};
}

/* ---- writing */

static int write_at(int fd, const struct text *t, uint64_t at)
{
	if (t->error)
		return t->error;
	for (size_t done = 0; done < t->len;) {
		ssize_t n = pwrite(fd, t->data + done, t->len - done, (off_t)(at + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The pieces as one chunk. */
static int pack(const struct text *pieces, struct text *ret)
{
	scoped(text_done) struct text frame = {0};
	struct fmt_chunk c = {.type = CHUNK_TYPE, .raw_bytes = pieces->len};
	int r = fmt_frame_pack(&frame, pieces->data, &pieces->len, 1, LEVEL);

	if (r < 0)
		return r;
	c.frame_bytes = frame.len;
	c.hash = fmt_hash(frame.data, frame.len);
	fmt_chunk_header_put(ret, &c);
	text_bytes(ret, frame.data, frame.len);
	return ret->error;
}

int rec_spool_flush(struct rec_spool *s)
{
	scoped(text_done) struct text chunk = {0};
	int r = s->error ? s->error : s->pieces.error;

	if (r == 0 && s->pieces.len > 0)
		r = pack(&s->pieces, &chunk);
	if (r == 0)
		r = write_at(s->fd, &chunk, s->bytes);
	s->pieces.len = 0;
	if (r == 0)
		s->bytes += chunk.len;
	else if (s->error == 0)
		s->error = ftruncate(s->fd, (off_t)s->bytes) < 0 ? -errno : r;
	return r;
}

int rec_spool_put(struct rec_spool *s, const struct rec_piece *piece, const void *data)
{
	static const char fill[8];

	if (s->error)
		return s->error;
	text_bytes(&s->pieces, (const char *)piece, sizeof(*piece));
	text_bytes(&s->pieces, data, piece->bytes);
	text_bytes(&s->pieces, fill, -piece->bytes & 7);
	return s->pieces.len < CHUNK_BYTES ? 0 : rec_spool_flush(s);
}

void rec_spool_drop(struct rec_spool *s)
{
	if (ftruncate(s->fd, 0) == 0)
		s->bytes = 0;
}

/* ---- reading */

/* The chunk at `at`: 1, and its pieces at *ret, which the caller frees; 0 where there is none that
 * is whole. */
static int read_chunk(int fd, uint64_t at, struct fmt_chunk *c, uint8_t **ret)
{
	scoped(free_ptr) uint8_t *frame = NULL;
	uint8_t header[FMT_CHUNK_HEADER_MAX];
	ssize_t n = pread(fd, header, sizeof(header), (off_t)at);
	const char *why;
	int r;

	if (n < 0)
		return -errno;
	r = fmt_chunk_header_get(header, (size_t)n, c, &why);
	if (r < 0 || c->type != CHUNK_TYPE || c->frame_bytes > FMT_CHUNK_RAW_MAX)
		return 0;
	frame = malloc(c->frame_bytes + 1);
	if (!frame)
		return -ENOMEM;
	n = pread(fd, frame, c->frame_bytes, (off_t)(at + c->header_bytes));
	if (n < 0)
		return -errno;
	if ((uint64_t)n < c->frame_bytes || fmt_hash(frame, c->frame_bytes) != c->hash)
		return 0;
	r = fmt_frame_unpack(frame, c->frame_bytes, c->raw_bytes, ret, &why);
	return r == 0 ? 1 : r == -EBADMSG ? 0 : r;
}

static int walk(const uint8_t *raw, uint64_t len,
		int (*take_piece)(void *, const struct rec_piece *), void *context)
{
	for (uint64_t at = 0; len - at >= sizeof(struct rec_piece);) {
		const struct rec_piece *p = (const void *)(raw + at);
		int r;

		at += sizeof(*p);
		if (p->bytes > len - at || (-p->bytes & 7) > len - at - p->bytes)
			return -EBADMSG;
		r = take_piece(context, p);
		if (r < 0)
			return r;
		at += p->bytes + (-p->bytes & 7);
	}
	return 0;
}

int rec_spool_next(struct rec_spool *s, int (*take_piece)(void *, const struct rec_piece *),
		   void *context)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_chunk c;
	int r = read_chunk(s->fd, s->at, &c, &raw);

	if (r == 0)
		s->bytes = s->at;
	if (r <= 0)
		return r;
	s->at += c.header_bytes + c.frame_bytes;
	r = walk(raw, c.raw_bytes, take_piece, context);
	return r < 0 ? r : 1;
}

int rec_spool_rest(struct rec_spool *s, int (*take_piece)(void *, const struct rec_piece *),
		   void *context)
{
	int r;

	do {
		r = rec_spool_next(s, take_piece, context);
	} while (r == 1);
	return r;
}

int rec_spool_read(struct rec_spool *s, int (*take_piece)(void *, const struct rec_piece *),
		   void *context)
{
	s->at = 0;
	return rec_spool_rest(s, take_piece, context);
}
