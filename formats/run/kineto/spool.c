/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/spool.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/cursor.h"
#include "formats/trace/store/output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#define RESIDENT (64u << 20) /* bytes that all spools together keep in memory */
#define BUFFER (64 << 10)
#define HEAD 40 /* bytes of four numbers, at most */

void kineto_spill_init(struct kineto_spill *p, const char *directory)
{
	*p = (struct kineto_spill){.directory = directory, .fd = -1};
}

void kineto_spill_done(struct kineto_spill *p)
{
	close_fd(&p->fd);
	p->fd = -1;
}

static int spill_open(struct kineto_spill *p)
{
	char path[PATH_MAX];

	if (p->fd >= 0)
		return 0;
	p->fd = open(p->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (p->fd >= 0)
		return 0;
	if (snprintf(path, sizeof(path), "%s/.gputrace-XXXXXX", p->directory) >= PATH_MAX)
		return -ENAMETOOLONG;
	p->fd = mkostemp(path, O_CLOEXEC);
	if (p->fd < 0)
		return -errno;
	unlink(path);
	return 0;
}

void kineto_spool_init(struct kineto_spool *p, struct kineto_spill *spill,
		       const struct kineto_templates *templates)
{
	*p = (struct kineto_spool){.spill = spill, .templates = templates};
}

static void drop_run(struct kineto_spool *p)
{
	free(p->events);
	free(p->values);
	p->events = NULL;
	p->values = NULL;
	p->n = p->cap = p->n_values = p->values_cap = 0;
}

void kineto_spool_done(struct kineto_spool *p)
{
	drop_run(p);
	free(p->runs);
	memset(p, 0, sizeof(*p));
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_event *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns);
}

/* ---- a run on disk ----------------------------------------------------------------------- */

/* Appends bytes to the file. */
static int flush(struct text *bytes)
{
	struct kineto_spill *spill = bytes->context;
	int r = fmt_write_all(spill->fd, bytes->data, bytes->len);

	spill->bytes += r == 0 ? bytes->len : 0;
	return r;
}

static void put_event(struct text *to, const struct kineto_spool *p, const struct fmt_event *e,
		      int64_t before)
{
	uint32_t n = p->templates->templates[e->template].n_varying;

	fmt_put_varint(to, (uint64_t)e->start_ns - (uint64_t)before);
	fmt_put_svarint(to, e->duration_ns);
	fmt_put_varint(to, e->template);
	fmt_put_varint(to, e->track);
	for (uint32_t i = 0; i < n; i++)
		fmt_put_svarint(to, p->values[e->first_value + i]);
}

static int write_run(struct kineto_spool *p)
{
	struct kineto_spill *spill = p->spill;
	scoped(text_done) struct text bytes = {.flush = flush, .limit = BUFFER, .context = spill};
	int r = spill_open(spill);
	uint64_t offset = spill->bytes;
	int64_t before = 0;

	if (r == 0 && array_reserve(&p->runs, p->n_runs + 1, &p->runs_cap) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	qsort(p->events, p->n, sizeof(*p->events), by_start);
	for (size_t i = 0; i < p->n; i++) {
		put_event(&bytes, p, &p->events[i], before);
		before = p->events[i].start_ns;
	}
	r = text_flush(&bytes);
	if (r < 0)
		return r;
	p->runs[p->n_runs++] = (struct kineto_run){offset, spill->bytes - offset, p->n};
	p->n = p->n_values = 0;
	return 0;
}

int kineto_spool_add(struct kineto_spool *p, const struct fmt_event *e, const int64_t *values)
{
	uint32_t n = p->templates->templates[e->template].n_varying;
	int r = p->n < KINETO_RUN ? 0 : write_run(p);

	if (r < 0)
		return r;
	if (array_reserve(&p->events, p->n + 1, &p->cap) < 0 ||
	    array_reserve(&p->values, p->n_values + n, &p->values_cap) < 0)
		return -ENOMEM;
	p->events[p->n] = *e;
	p->events[p->n++].first_value = (uint32_t)p->n_values;
	if (n > 0)
		memcpy(p->values + p->n_values, values, n * sizeof(*values));
	p->n_values += n;
	return 0;
}

int kineto_spool_end(struct kineto_spool *p)
{
	uint64_t bytes = p->n * sizeof(*p->events) + p->n_values * sizeof(*p->values);

	if (p->n_runs > 0 || p->spill->resident + bytes > RESIDENT) {
		int r = p->n > 0 ? write_run(p) : 0;

		drop_run(p);
		return r;
	}
	p->spill->resident += bytes;
	if (p->n > 0)
		qsort(p->events, p->n, sizeof(*p->events), by_start);
	return 0;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* A run being read; `e` is its next record. */
struct input {
	uint64_t offset, left; /* bytes not yet in the buffer */
	uint64_t records;      /* after `e` */
	struct fmt_event e;
	int64_t *values;
	size_t values_cap;
	struct fmt_cursor c; /* of the buffer */
	uint8_t buffer[BUFFER];
};

struct kineto_spool_reader {
	const struct kineto_spool *spool;
	struct input **inputs; /* owned */
	size_t n_inputs;
	struct input **last; /* the run whose record was returned; NULL */
	size_t next;	     /* index of the run in memory */
};

define_cleanup(reader_freep, struct kineto_spool_reader *, kineto_spool_reader_free);

static void input_free(struct input *in)
{
	free(in->values);
	free(in);
}

void kineto_spool_reader_free(struct kineto_spool_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_inputs; i++)
		input_free(r->inputs[i]);
	free(r->inputs);
	free(r);
}

static int refill_input(struct input *in, int fd)
{
	size_t keep = fmt_left(&in->c), len = keep;

	if (keep > 0)
		memmove(in->buffer, in->c.at, keep);
	while (len < sizeof(in->buffer) && in->left > 0) {
		size_t want = sizeof(in->buffer) - len < in->left ? sizeof(in->buffer) - len
								  : (size_t)in->left;
		ssize_t n = pread(fd, in->buffer + len, want, (off_t)in->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		len += (size_t)n;
		in->offset += (uint64_t)n;
		in->left -= (uint64_t)n;
	}
	in->c = fmt_cursor(in->buffer, len);
	return 0;
}

/* Decodes the run's next record into in->e. */
static int decode_range(struct input *in, const struct kineto_spool *p)
{
	int fd = p->spill->fd, r = fmt_left(&in->c) < HEAD ? refill_input(in, fd) : 0;
	uint32_t n;

	if (r < 0)
		return r;
	in->e.start_ns = (int64_t)((uint64_t)in->e.start_ns + fmt_varint(&in->c));
	in->e.duration_ns = fmt_svarint(&in->c);
	in->e.template = (uint32_t)fmt_varint(&in->c);
	in->e.track = (uint32_t)fmt_varint(&in->c);
	if (in->e.template >= p->templates->n)
		return -EIO;
	n = p->templates->templates[in->e.template].n_varying;
	if (array_reserve(&in->values, n, &in->values_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && r == 0; i++) {
		r = fmt_left(&in->c) < HEAD ? refill_input(in, fd) : 0;
		in->values[i] = fmt_svarint(&in->c);
	}
	in->records--;
	return r == 0 && in->c.bad ? -EIO : r;
}

int kineto_spool_read(const struct kineto_spool *p, struct kineto_spool_reader **ret)
{
	scoped(reader_freep) struct kineto_spool_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->spool = p;
	r->inputs = calloc(p->n_runs + 1, sizeof(struct input *));
	if (!r->inputs)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_runs; i++) {
		struct input *in = calloc(1, sizeof(*in));
		int e;

		if (!in)
			return -ENOMEM;
		r->inputs[r->n_inputs++] = in;
		in->offset = p->runs[i].offset;
		in->left = p->runs[i].bytes;
		in->records = p->runs[i].records;
		in->c = fmt_cursor(in->buffer, 0);
		e = decode_range(in, p);
		if (e < 0)
			return e;
	}
	*ret = take(r);
	return 0;
}

/* Advances the run whose record was returned. */
static int advance_run(struct kineto_spool_reader *r)
{
	struct input **last = take(r->last);

	if (!last)
		return 0;
	if ((*last)->records > 0)
		return decode_range(*last, r->spool);
	input_free(*last);
	*last = r->inputs[--r->n_inputs];
	return 0;
}

int kineto_spool_next(struct kineto_spool_reader *r, struct fmt_event *ret, const int64_t **values)
{
	const struct kineto_spool *p = r->spool;
	int e;

	if (p->n_runs == 0) {
		if (r->next == p->n)
			return 0;
		*ret = p->events[r->next++];
		*values = p->values ? p->values + ret->first_value : NULL;
		return 1;
	}
	e = advance_run(r);
	if (e < 0 || r->n_inputs == 0)
		return e;
	r->last = r->inputs;
	for (size_t i = 1; i < r->n_inputs; i++)
		if (r->inputs[i]->e.start_ns < (*r->last)->e.start_ns)
			r->last = &r->inputs[i];
	*ret = (*r->last)->e;
	*values = (*r->last)->values;
	return 1;
}
