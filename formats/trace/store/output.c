/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/output.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/index.h"
#include "formats/trace/store/slice_code.h"

#include <fcntl.h>

int fmt_write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The file is open only during writes, so that a writer of thousands of ranks needs few
 * descriptors. */
static int append_bytes(struct fmt_output *o, const struct text *t, struct fmt_error *err)
{
	scoped(close_fd) int opened = -1;
	int fd = o->fd, r;

	if (t->error)
		return fmt_fail(err, t->error, o->path, o->bytes, "%s", strerror(-t->error));
	if (!o->lent_fd)
		fd = opened = open(o->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return fmt_fail(err, -errno, o->path, o->bytes, "cannot open: %s", strerror(errno));
	r = fmt_write_all(fd, t->data, t->len);
	if (r < 0)
		return fmt_fail(err, r, o->path, o->bytes, "cannot write: %s", strerror(-r));
	o->bytes += t->len;
	return 0;
}

int fmt_merkle_add_file(struct fmt_merkle *m, const struct fmt_file_header *h)
{
	scoped(text_done) struct text t = {0};

	fmt_file_header_put(&t, h);
	if (!t.error)
		fmt_merkle_add(m, t.data, t.len, "", 0);
	return t.error;
}

int fmt_merkle_add_chunk(struct fmt_merkle *m, const struct fmt_chunk *c, const void *raw)
{
	scoped(text_done) struct text t = {0};

	fmt_chunk_fields_put(&t, c);
	if (!t.error)
		fmt_merkle_add(m, t.data, t.len, raw, c->raw_bytes);
	return t.error;
}

static int write_header(struct fmt_output *o, struct fmt_error *err)
{
	int r;

	fmt_file_header_put(&o->buf, &o->header);
	r = fmt_merkle_add_file(&o->tree, &o->header);
	if (r < 0)
		return fmt_fail(err, r, o->path, 0, "%s", strerror(-r));
	return append_bytes(o, &o->buf, err);
}

static int init_output(struct fmt_output *o, const char *path, const struct fmt_file_header *h,
		       struct fmt_error *err)
{
	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->header = *h;
	o->path = strdup(path);
	return o->path ? 0 : fmt_fail(err, -ENOMEM, path, FMT_NO_OFFSET, "out of memory");
}

int fmt_output_open(struct fmt_output *o, const char *path, const struct fmt_file_header *h,
		    struct fmt_error *err)
{
	scoped(close_fd) int fd = -1;
	int r = init_output(o, path, h, err);

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return fmt_fail(err, -errno, path, FMT_NO_OFFSET, "cannot create: %s",
				strerror(errno));
	return write_header(o, err);
}

int fmt_output_part(struct fmt_output *o, int fd, const char *path, const struct fmt_file_header *h,
		    struct fmt_error *err)
{
	int r = init_output(o, path, h, err);

	if (r < 0)
		return r;
	o->fd = fd;
	o->lent_fd = 1;
	return write_header(o, err);
}

/* Each block takes at least four bytes, so a payload in blocks of this size never exceeds the
 * allowed compression ratio. */
#define BLOCK_BYTES 2048

/* Lists the offsets of parts that compress better in separate blocks (the times of a slice), and
 * the payload's end. Returns their number. */
static size_t find_cuts(const struct fmt_chunk *c, const char *raw, size_t cuts[3])
{
	struct fmt_slice_head head;
	size_t n = 0;

	if (c->type == FMT_CHUNK_SLICE &&
	    fmt_slice_head_get(fmt_cursor(raw, c->raw_bytes), &head) == 0) {
		cuts[n++] = (size_t)(head.times.base - (const uint8_t *)raw);
		cuts[n++] = (size_t)(head.low_bytes.base - (const uint8_t *)raw);
	}
	cuts[n++] = c->raw_bytes;
	return n;
}

/* Packs the payload; again in many blocks if a reader would refuse it as a decompression bomb. */
static int pack(struct fmt_chunk *c, const char *raw, int level, struct text *frame)
{
	size_t cuts[3], n_cuts = find_cuts(c, raw, cuts);
	int r = fmt_frame_pack(frame, raw, cuts, n_cuts, level);
	size_t n = c->raw_bytes / BLOCK_BYTES + 1;
	scoped(free_ptr) size_t *blocks = NULL;

	c->frame_bytes = frame->len;
	if (r < 0 || !fmt_chunk_is_oversized(c))
		return r;
	blocks = malloc(n * sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		blocks[i] = i + 1 < n ? (i + 1) * BLOCK_BYTES : c->raw_bytes;
	frame->len = 0;
	r = fmt_frame_pack(frame, raw, blocks, n, level);
	c->frame_bytes = frame->len;
	return r;
}

int fmt_output_chunk(struct fmt_output *o, struct fmt_chunk *c, const char *raw, size_t len,
		     int level, struct fmt_error *err)
{
	scoped(text_done) struct text frame = {0};
	int r;

	c->rank = o->header.number;
	c->raw_bytes = len;
	c->offset = o->bytes;
	if (c->raw_bytes > FMT_CHUNK_RAW_MAX)
		return fmt_fail(err, -EOVERFLOW, o->path, o->bytes,
				"a slice too large for a chunk");
	r = pack(c, raw, level, &frame);
	if (r == 0)
		r = fmt_merkle_add_chunk(&o->tree, c, raw);
	if (r == 0)
		r = array_reserve(&o->chunks, o->n_chunks + 1, &o->chunks_cap);
	if (r < 0)
		return fmt_fail(err, r, o->path, o->bytes, "cannot pack a chunk: %s", strerror(-r));
	c->hash = fmt_hash(frame.data, frame.len);
	o->buf.len = 0;
	fmt_chunk_header_put(&o->buf, c);
	c->header_bytes = o->buf.len;
	text_bytes(&o->buf, frame.data, frame.len);
	o->chunks[o->n_chunks++] = *c;
	return append_bytes(o, &o->buf, err);
}

int fmt_output_tail(struct fmt_output *o, struct text *tail, struct fmt_error *err)
{
	struct fmt_footer f = {0};
	size_t before = tail->len;
	int r = fmt_index_put(tail, &o->header, o->chunks, o->n_chunks);

	if (r < 0)
		return fmt_fail(err, r, o->path, o->bytes, "cannot make the index: %s",
				strerror(-r));
	fmt_merkle_root(&o->tree, o->root);
	memcpy(f.root, o->root, sizeof(f.root));
	f.index_bytes = tail->len - before;
	fmt_footer_put(tail, &f);
	return tail->error;
}

int fmt_output_end(struct fmt_output *o, struct fmt_error *err)
{
	int r;

	o->buf.len = 0;
	r = fmt_output_tail(o, &o->buf, err);
	return r < 0 ? r : append_bytes(o, &o->buf, err);
}

void fmt_output_done(struct fmt_output *o)
{
	free(o->path);
	free(o->chunks);
	text_done(&o->buf);
	memset(o, 0, sizeof(*o));
	o->fd = -1;
}
