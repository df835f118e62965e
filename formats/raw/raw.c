/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/raw/raw.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/chunk.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define CHUNK_BYTES (4u << 20)	  /* size of pieces; a chunk exceeds it by one piece */
#define CHUNK_TYPE 0xf0		  /* not a type of a trace's chunk */
#define LEVEL (-1)		  /* a fifth faster than level 1, and 5 % larger */
#define RESERVE_BYTES (16u << 10) /* remain allocated for the records at the end */

static uint64_t hash_of(const struct rec_raw_header *h)
{
	return fmt_hash(h, offsetof(struct rec_raw_header, hash));
}

int rec_raw_create(const char *path, struct rec_raw_header *header, struct rec_raw *ret)
{
	scoped(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
	ssize_t n;

	if (fd < 0)
		return -errno;
	memcpy(header->magic, REC_RAW_MAGIC, sizeof(header->magic));
	header->version = REC_RAW_VERSION;
	header->hash = hash_of(header);
	n = pwrite(fd, header, sizeof(*header), 0);
	if (n != (ssize_t)sizeof(*header))
		return n < 0 ? -errno : -ENOSPC;
	*ret = (struct rec_raw){.fd = take_fd(fd), .bytes = sizeof(*header)};
	rec_raw_rewind(ret);
	return 0;
}

int rec_raw_open(const char *path, bool append, struct rec_raw_header *header, struct rec_raw *ret,
		 struct fmt_error *err)
{
	scoped(close_fd) int fd = open(path, (append ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, header, sizeof(*header), 0);

	if (n < 0)
		return -errno;
	if (n < (ssize_t)offsetof(struct rec_raw_header, pid) ||
	    memcmp(header->magic, REC_RAW_MAGIC, sizeof(header->magic)) != 0)
		return fmt_fail(err, -EBADMSG, path, 0, "not a raw recording");
	if (header->version != REC_RAW_VERSION)
		return fmt_fail(err, -ENOTSUP, path, offsetof(struct rec_raw_header, version),
				"raw recording of version %u; this program reads version %u",
				header->version, REC_RAW_VERSION);
	if (n < (ssize_t)sizeof(*header) || header->hash != hash_of(header))
		return fmt_fail(err, -EBADMSG, path, 0, "damaged header of a raw recording");
	header->host[sizeof(header->host) - 1] = '\0';
	header->boot[sizeof(header->boot) - 1] = header->run[sizeof(header->run) - 1] = '\0';
	*ret = (struct rec_raw){.fd = take_fd(fd)};
	rec_raw_rewind(ret);
	return 0;
}

/* A chunk that another thread reads. */
struct rec_raw_ahead {
	pthread_t thread;
	int fd;
	uint64_t at;
	struct fmt_chunk chunk;
	uint8_t *raw; /* owned */
	int r;
};

/* Drops the chunks that were read ahead. */
static void drop_ahead(struct rec_raw *s)
{
	for (int i = 0; i < REC_RAW_AHEAD; i++) {
		struct rec_raw_ahead *a = take(s->ahead[i]);

		if (!a)
			continue;
		pthread_join(a->thread, NULL);
		free(a->raw);
		free(a);
	}
}

void rec_raw_done(struct rec_raw *s)
{
	drop_ahead(s);
	close_fd(&s->fd);
	text_done(&s->pieces);
	*s = (struct rec_raw){.fd = -1};
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

/* Allocates space for the chunk, and for the last one after it. File systems without this function
 * are assumed to have space. */
static int reserve_disk(const struct rec_raw *s, uint64_t bytes)
{
	bytes += s->is_final ? 0 : RESERVE_BYTES;
	if (fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->bytes, (off_t)bytes) == 0)
		return 0;
	return errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

/* Packs the pieces as one chunk. */
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

int rec_raw_flush(struct rec_raw *s)
{
	scoped(text_done) struct text chunk = {0};
	int r = s->error ? s->error : s->pieces.error;

	if (r == 0 && s->pieces.len > 0)
		r = pack(&s->pieces, &chunk);
	if (r == 0 && chunk.len > 0)
		r = reserve_disk(s, chunk.len);
	if (r == 0)
		r = write_at(s->fd, &chunk, s->bytes);
	s->pieces.len = 0;
	s->bytes += r == 0 ? chunk.len : 0;
	if (s->error == 0)
		s->error = r;
	if (s->is_final && ftruncate(s->fd, (off_t)s->bytes) < 0 && r == 0)
		r = -errno;
	return r;
}

int rec_raw_put(struct rec_raw *s, const struct rec_piece *piece, const void *data)
{
	return rec_raw_put_parts(s, piece, NULL, 0, data);
}

int rec_raw_put_parts(struct rec_raw *s, const struct rec_piece *piece, const void *head,
		      size_t head_bytes, const void *data)
{
	static const char fill[8];

	if (s->error)
		return s->error;
	text_bytes(&s->pieces, (const char *)piece, sizeof(*piece));
	text_bytes(&s->pieces, head, head_bytes);
	text_bytes(&s->pieces, data, piece->bytes - head_bytes);
	text_bytes(&s->pieces, fill, -piece->bytes & 7);
	return s->pieces.len < CHUNK_BYTES ? 0 : rec_raw_flush(s);
}

void rec_raw_use_reserve(struct rec_raw *s)
{
	s->pieces.len = 0;
	s->error = 0;
	s->is_final = true;
}

/* ---- reading */

/* Reads the header of the chunk at offset `at`. Returns 1; 0 if the file has no valid header there;
 * -errno. */
static int read_header(int fd, uint64_t at, struct fmt_chunk *c)
{
	uint8_t header[FMT_CHUNK_HEADER_MAX];
	ssize_t n = pread(fd, header, sizeof(header), (off_t)at);
	const char *why;

	if (n < 0)
		return -errno;
	return fmt_chunk_header_get(header, (size_t)n, c, &why) == 0 && c->type == CHUNK_TYPE &&
	       c->frame_bytes <= FMT_CHUNK_RAW_MAX;
}

/* Reads the chunk at `at`, whose header is *c. Returns 1 and its pieces at *ret, which the caller
 * frees; 0 if it is damaged or incomplete. */
static int read_frame(int fd, uint64_t at, const struct fmt_chunk *c, uint8_t **ret)
{
	scoped(free_ptr) uint8_t *frame = NULL;
	const char *why;
	ssize_t n;
	int r;

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

/* Reads the header and the contents of the chunk at `at`. Returns as read_frame(); 0 also if there
 * is no header. */
static int read_chunk(int fd, uint64_t at, struct fmt_chunk *c, uint8_t **ret)
{
	int r = read_header(fd, at, c);

	return r == 1 ? read_frame(fd, at, c, ret) : r;
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

/* Searches for the next complete chunk after *from. Returns 1 and sets *from to its offset, or 0 at
 * the end of the file. Tries only offsets with the magic number of a chunk header. */
static int find_chunk(int fd, uint64_t *from)
{
	static const uint32_t magic = FMT_SKIP_MAGIC; /* files are little-endian, as this machine */
	uint8_t window[1 << 16];
	ssize_t n;

	while ((n = pread(fd, window, sizeof(window), (off_t)*from)) >= (ssize_t)sizeof(magic)) {
		const uint8_t *end = window + n, *at = window;

		while ((at = memmem(at, (size_t)(end - at), &magic, sizeof(magic)))) {
			scoped(free_ptr) uint8_t *raw = NULL;
			uint64_t offset = *from + (uint64_t)(at++ - window);
			struct fmt_chunk c;
			int r = read_chunk(fd, offset, &c, &raw);

			if (r != 0) {
				*from = offset;
				return r;
			}
		}
		*from += (uint64_t)n - sizeof(magic) + 1;
	}
	return n < 0 ? -errno : 0;
}

int rec_raw_skip_damaged(struct rec_raw *s)
{
	uint64_t at = s->at + 1;
	int r = find_chunk(s->fd, &at);

	if (r == 1)
		s->at = at;
	return r;
}

static void *read_ahead(void *ahead)
{
	struct rec_raw_ahead *a = ahead;

	a->r = read_frame(a->fd, a->at, &a->chunk, &a->raw);
	return NULL;
}

/* Starts a thread that reads the chunk at offset `at`. Returns NULL if the file has no valid chunk
 * there, or on failure. */
static struct rec_raw_ahead *begin_chunk(int fd, uint64_t at)
{
	scoped(free_ptr) struct rec_raw_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->fd = fd;
	a->at = at;
	if (read_header(fd, at, &a->chunk) != 1 || a->chunk.raw_bytes > 2 * CHUNK_BYTES ||
	    pthread_create(&a->thread, NULL, read_ahead, a) != 0)
		return NULL;
	return take(a);
}

static void begin_ahead(struct rec_raw *s)
{
	uint64_t at = s->at;

	for (int i = 0; i < REC_RAW_AHEAD; i++) {
		if (!s->ahead[i])
			s->ahead[i] = begin_chunk(s->fd, at);
		if (!s->ahead[i])
			return;
		at += s->ahead[i]->chunk.header_bytes + s->ahead[i]->chunk.frame_bytes;
	}
}

/* The next chunk, as read_chunk(): perhaps it was read ahead. */
static int next_chunk(struct rec_raw *s, struct fmt_chunk *c, uint8_t **ret)
{
	struct rec_raw_ahead *a = s->ahead[0];
	int r;

	if (!a || a->at != s->at) {
		drop_ahead(s);
		return read_chunk(s->fd, s->at, c, ret);
	}
	pthread_join(a->thread, NULL);
	*c = a->chunk;
	*ret = a->raw;
	r = a->r;
	free(a);
	memmove(s->ahead, s->ahead + 1, sizeof(s->ahead) - sizeof(s->ahead[0]));
	s->ahead[REC_RAW_AHEAD - 1] = NULL;
	return r;
}

int rec_raw_next(struct rec_raw *s, int (*take_piece)(void *, const struct rec_piece *),
		 void *context)
{
	scoped(free_ptr) uint8_t *raw = NULL;
	struct fmt_chunk c;
	int r = next_chunk(s, &c, &raw);

	if (r == 0)
		s->bytes = s->at;
	if (r <= 0)
		return r;
	s->at += c.header_bytes + c.frame_bytes;
	if (s->reads_ahead)
		begin_ahead(s);
	r = walk(raw, c.raw_bytes, take_piece, context);
	return r < 0 ? r : 1;
}

void rec_raw_rewind(struct rec_raw *s)
{
	s->at = sizeof(struct rec_raw_header);
}

int rec_raw_read(struct rec_raw *s, int (*take_piece)(void *, const struct rec_piece *),
		 void *context)
{
	int r;

	rec_raw_rewind(s);
	do {
		r = rec_raw_next(s, take_piece, context);
	} while (r == 1);
	return r;
}
