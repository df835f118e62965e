/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/pack.h"

#include "base/array.h"
#include "formats/trace/store/index.h"
#include "formats/trace/store/output.h"
#include "formats/trace/store/trace_impl.h"

#include <fcntl.h>
#include <sys/stat.h>

#define PIECE (1u << 20)

struct packing {
	const char *path; /* of the packed file */
	int fd;
	struct fmt_member_span *spans;
	struct text tails;
	size_t n;
};

static void packing_done(struct packing *p)
{
	close_fd(&p->fd);
	free(p->spans);
	text_done(&p->tails);
}

static int write_at_end(int fd, const char *path, const char *data, size_t len,
			struct fmt_error *err)
{
	int r = fmt_write_all(fd, data, len);

	return r < 0 ? fmt_fail(err, r, path, FMT_NO_OFFSET, "cannot write: %s", strerror(-r)) : 0;
}

/* Copies the bytes [from, to) of a member to `fd`, or into `text`. */
static int copy_member(const struct fmt_trace *t, const struct fmt_member *m, uint64_t from,
		       uint64_t to, int fd, const char *path, struct text *text,
		       struct fmt_error *err)
{
	scoped(free_ptr) char *buf = malloc(PIECE);
	char name[512];
	int in = buf ? fmt_source_open(&m->source) : -ENOMEM, r = 0;

	fmt_member_path(t, m, name, sizeof(name));
	if (in < 0)
		return fmt_fail(err, in, name, FMT_NO_OFFSET, "cannot open: %s", strerror(-in));
	while (r == 0 && from < to) {
		size_t want = to - from < PIECE ? (size_t)(to - from) : PIECE;
		long n = fmt_source_read(&m->source, in, buf, want, from);

		if (n <= 0)
			r = fmt_fail(err, n < 0 ? (int)n : -EIO, name, from, "cannot read: %s",
				     n < 0 ? strerror((int)-n) : "it became shorter");
		else if (text)
			text_bytes(text, buf, (size_t)n);
		else
			r = write_at_end(fd, path, buf, (size_t)n, err);
		from += (uint64_t)(n > 0 ? n : 0);
	}
	fmt_source_close(&m->source, in);
	return r < 0 ? r : text ? text->error : 0;
}

/* Returns the size of the index and footer of a member; 0 if they are missing or damaged. */
static uint64_t tail_of(const struct fmt_member *m)
{
	return m->index_bytes ? m->index_bytes + FMT_FOOTER_BYTES : 0;
}

static int pack_as_is(struct packing *p, const struct fmt_trace *t, const struct fmt_member *m,
		      struct fmt_error *err)
{
	struct fmt_member_span *span = &p->spans[p->n];
	int r;

	span->tail_bytes = tail_of(m);
	span->data_bytes = m->source.bytes - span->tail_bytes;
	r = copy_member(t, m, 0, span->data_bytes, p->fd, p->path, NULL, err);
	return r < 0 ? r
		     : copy_member(t, m, span->data_bytes, m->source.bytes, -1, NULL, &p->tails,
				   err);
}

static int pack_anew(struct packing *p, const struct fmt_trace *t, const struct fmt_member *m,
		     int level, struct fmt_error *err)
{
	scoped(fmt_output_done) struct fmt_output out = {.fd = -1};
	struct fmt_member_span *span = &p->spans[p->n];
	size_t before = p->tails.len;
	char name[512];
	int r;

	fmt_member_path(t, m, name, sizeof(name));
	r = fmt_output_part(&out, p->fd, p->path, &m->header, err);
	for (size_t i = 0; r == 0 && i < m->n_chunks; i++) {
		scoped(free_ptr) uint8_t *raw = NULL;
		struct fmt_chunk c = m->chunks[i];

		r = fmt_member_read(m, name, &c, &raw, err);
		if (r >= 0)
			r = fmt_output_chunk(&out, &c, (const char *)raw, c.raw_bytes, level, err);
	}
	span->data_bytes = out.bytes;
	if (r == 0)
		r = fmt_output_tail(&out, &p->tails, err);
	span->tail_bytes = p->tails.len - before;
	return r;
}

static int pack_member(struct packing *p, const struct fmt_trace *t, const struct fmt_member *m,
		       int level, struct fmt_error *err)
{
	int r;

	snprintf(p->spans[p->n].name, sizeof(p->spans[p->n].name), "%s", m->source.name);
	r = level ? pack_anew(p, t, m, level, err) : pack_as_is(p, t, m, err);
	p->n++;
	return r;
}

/* Writes the tails, the index of the members and the footer. */
static int write_tail(struct packing *p, struct fmt_trace *t, struct fmt_error *err)
{
	struct fmt_footer f = {0};
	size_t before = p->tails.len;
	int r;

	if (*fmt_trace_id(t))
		memcpy(f.root, t->root, sizeof(f.root));
	r = fmt_members_put(&p->tails, p->spans, p->n);
	f.index_bytes = p->tails.len - before;
	fmt_footer_put(&p->tails, &f);
	if (r == 0)
		r = p->tails.error;
	if (r < 0)
		return fmt_fail(err, r, p->path, FMT_NO_OFFSET, "%s", strerror(-r));
	return write_at_end(p->fd, p->path, p->tails.data, p->tails.len, err);
}

int fmt_pack(const char *from, const char *to, int level, struct fmt_error *err)
{
	const struct fmt_file_header h = {.kind = FMT_FILE_PACKED};
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	scoped(packing_done) struct packing p = {.path = to, .fd = -1};
	scoped(text_done) struct text header = {0};
	const struct fmt_member *m;
	uint32_t next = 0;
	int r = fmt_trace_open(from, &t, err);

	if (r < 0)
		return r;
	p.spans = calloc((size_t)t->n_ranks + 2, sizeof(*p.spans));
	fmt_file_header_put(&header, &h);
	if (!p.spans || header.error)
		return fmt_fail(err, -ENOMEM, to, FMT_NO_OFFSET, "out of memory");
	p.fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (p.fd < 0)
		return fmt_fail(err, -errno, to, FMT_NO_OFFSET, "cannot create: %s",
				strerror(errno));
	r = write_at_end(p.fd, to, header.data, header.len, err);
	while (r == 0 && (m = fmt_member_next(t, &next)))
		r = pack_member(&p, t, m, level, err);
	return r < 0 ? r : write_tail(&p, t, err);
}

static int unpack_member(const struct fmt_trace *t, const struct fmt_member *m, const char *to,
			 struct fmt_error *err)
{
	scoped(text_done) struct text path = {0};
	scoped(close_fd) int fd = -1;

	text_printf(&path, "%s/%s", to, m->source.name);
	text_char(&path, '\0');
	if (path.error)
		return fmt_fail(err, path.error, to, FMT_NO_OFFSET, "out of memory");
	fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return fmt_fail(err, -errno, path.data, FMT_NO_OFFSET, "cannot create: %s",
				strerror(errno));
	return copy_member(t, m, 0, m->source.bytes, fd, path.data, NULL, err);
}

int fmt_unpack(const char *from, const char *to, struct fmt_error *err)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	const struct fmt_member *m;
	uint32_t next = 0;
	int r = fmt_trace_open(from, &t, err);

	if (r < 0)
		return r;
	if (t->packed_fd < 0)
		return fmt_fail(err, -EISDIR, from, FMT_NO_OFFSET,
				"a directory, not a packed file");
	if (mkdir(to, 0777) < 0)
		return fmt_fail(err, -errno, to, FMT_NO_OFFSET, "cannot create: %s",
				strerror(errno));
	while (r == 0 && (m = fmt_member_next(t, &next)))
		r = unpack_member(t, m, to, err);
	return r;
}
