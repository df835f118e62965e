/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/scan.h"

#include "base/array.h"

/* Bytes read to recognise a header; and bytes searched together for the next one. */
#define PROBE 512
#define WINDOW 65536
/* The largest index. */
#define HEADER_MAX (1u << 30)
/* Invalid long headers are read up to this multiple of the file's size. */
#define VAIN 16

void fmt_scan_init(struct fmt_scan *s, const struct fmt_source *source, int fd)
{
	memset(s, 0, sizeof(*s));
	s->source = source;
	s->fd = fd;
}

void fmt_scan_done(struct fmt_scan *s)
{
	free(s->buf);
	s->buf = NULL;
	s->cap = 0;
}

/* Reads up to `len` bytes at `offset` into s->buf. */
static long read_bytes(struct fmt_scan *s, uint64_t offset, size_t len)
{
	if (array_reserve(&s->buf, len, &s->cap) < 0)
		return -ENOMEM;
	return fmt_source_read(s->source, s->fd, s->buf, len, offset);
}

static uint32_t u32_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Reads and checks the header of an index, a file or a footer. */
static int read_other(struct fmt_scan *s, uint64_t offset, uint32_t body, struct fmt_frame *f)
{
	size_t len = (size_t)body + 8;
	struct fmt_cursor c;
	long n;
	int r;

	if (body > HEADER_MAX || offset + len > s->source->bytes ||
	    s->in_vain / VAIN > s->source->bytes) {
		f->why = "truncated in a header";
		return -EBADMSG;
	}
	n = read_bytes(s, offset, len);
	if (n < 0)
		return (int)n;
	f->bytes = len;
	if (f->tag == 'F')
		return fmt_file_header_get(s->buf, (size_t)n, &f->file, &f->why);
	if (f->tag == 'E')
		return fmt_footer_get(s->buf, (size_t)n, &f->footer, &f->why);
	r = fmt_header_open(s->buf, (size_t)n, f->tag, &c, &f->why);
	if (r < 0 || f->tag == 'M')
		return r;
	return fmt_file_fields_get(&c, &f->file, &f->why);
}

/* Checks for a complete frame at `offset`. Returns 1, or 0 and f->why, or -errno. */
static int try_frame(struct fmt_scan *s, uint64_t offset, struct fmt_frame *f)
{
	long n = read_bytes(s, offset, PROBE);
	int r;

	if (n < 0)
		return (int)n;
	f->offset = offset;
	f->why = n < 9 ? "truncated in a header" : "missing header";
	if (n < 9 || u32_at(s->buf) != FMT_SKIP_MAGIC)
		return 0;
	f->tag = s->buf[8];
	if (f->tag == 'C') {
		r = fmt_chunk_header_get(s->buf, (size_t)n, &f->chunk, &f->why);
		f->chunk.offset = offset;
		f->bytes = f->chunk.header_bytes + f->chunk.frame_bytes;
		if (r == 0 && f->bytes > s->source->bytes - offset) {
			f->why = "truncated in a chunk";
			return 0;
		}
	} else if (f->tag == 'F' || f->tag == 'E' || f->tag == 'I' || f->tag == 'M') {
		r = read_other(s, offset, u32_at(s->buf + 4), f);
		s->in_vain += r == -EBADMSG ? f->bytes : 0;
	} else {
		f->why = "missing header";
		return 0;
	}
	return r == 0 ? 1 : r == -EBADMSG ? 0 : r;
}

/* Looks for a whole frame from `from` on. */
static int find_chunk(struct fmt_scan *s, uint64_t from, struct fmt_frame *f)
{
	static const uint8_t magic[4] = {FMT_SKIP_MAGIC & 0xff, FMT_SKIP_MAGIC >> 8 & 0xff,
					 FMT_SKIP_MAGIC >> 16 & 0xff, FMT_SKIP_MAGIC >> 24};
	uint8_t *window = malloc(WINDOW);
	int r = 0;

	if (!window)
		return -ENOMEM;
	while (r == 0) {
		long n = fmt_source_read(s->source, s->fd, window, WINDOW, from);
		const uint8_t *at = window, *hit;

		if (n < 9) {
			r = n < 0 ? (int)n : 0;
			break;
		}
		while (r == 0 && (hit = memmem(at, (size_t)(window + n - at), magic, 4))) {
			r = try_frame(s, from + (uint64_t)(hit - window), f);
			at = hit + 1;
		}
		from += (uint64_t)n < WINDOW ? (uint64_t)n : WINDOW - 3;
	}
	free(window);
	return r;
}

int fmt_scan_next(struct fmt_scan *s, struct fmt_frame *ret)
{
	struct fmt_frame f = {0};
	uint64_t at = s->at;
	const char *why;
	int r;

	s->end = at;
	s->why = NULL;
	if (at >= s->source->bytes)
		return 0;
	r = try_frame(s, at, &f);
	if (r == 0) {
		why = f.why;
		r = find_chunk(s, at + 1, &f);
		f.lost_at = at;
		f.lost_bytes = f.offset - at;
		f.why = s->why = why;
	}
	if (r <= 0)
		return r;
	s->at = f.offset + f.bytes;
	*ret = f;
	return 1;
}
