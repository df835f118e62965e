/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/spool.h"

#include "base/array.h"
#include "base/scope.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#define RESIDENT (64u << 20) /* bytes that all spools together keep in memory */
#define BUFFER (64 << 10)
#define VARINT 10

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

struct output {
	int fd;
	uint64_t offset;
	size_t len;
	uint8_t buffer[BUFFER];
};

static int flush(struct output *o)
{
	for (size_t at = 0; at < o->len;) {
		ssize_t n = pwrite(o->fd, o->buffer + at, o->len - at, (off_t)o->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
		o->offset += (uint64_t)n;
	}
	o->len = 0;
	return 0;
}

static int put_number(struct output *o, uint64_t v)
{
	if (o->len + VARINT > sizeof(o->buffer)) {
		int r = flush(o);

		if (r < 0)
			return r;
	}
	while (v >= 0x80) {
		o->buffer[o->len++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	o->buffer[o->len++] = (uint8_t)v;
	return 0;
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static int put_event(struct output *o, const struct kineto_spool *p, const struct fmt_event *e,
		     int64_t before)
{
	uint32_t n = p->templates->templates[e->template].n_varying;
	int r = put_number(o, (uint64_t)e->start_ns - (uint64_t)before);

	if (r == 0)
		r = put_number(o, zigzag(e->duration_ns));
	if (r == 0)
		r = put_number(o, e->template);
	if (r == 0)
		r = put_number(o, e->track);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = put_number(o, zigzag(p->values[e->first_value + i]));
	return r;
}

static int write_run(struct kineto_spool *p)
{
	scoped(free_ptr) struct output *o = malloc(sizeof(*o));
	struct kineto_spill *spill = p->spill;
	int64_t before = 0;
	int r = spill_open(spill);

	if (!o || r < 0)
		return r < 0 ? r : -ENOMEM;
	if (array_reserve(&p->runs, p->n_runs + 1, &p->runs_cap) < 0)
		return -ENOMEM;
	qsort(p->events, p->n, sizeof(*p->events), by_start);
	o->fd = spill->fd;
	o->offset = spill->bytes;
	o->len = 0;
	for (size_t i = 0; i < p->n && r == 0; i++) {
		r = put_event(o, p, &p->events[i], before);
		before = p->events[i].start_ns;
	}
	if (r == 0)
		r = flush(o);
	if (r < 0)
		return r;
	p->runs[p->n_runs++] = (struct kineto_run){spill->bytes, o->offset - spill->bytes, p->n};
	spill->bytes = o->offset;
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
	p->records++;
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

/* A run that is being read; `e` is its next record. */
struct input {
	uint64_t offset, left; /* bytes that are not in the buffer yet */
	uint64_t records;      /* after `e` */
	struct fmt_event e;
	int64_t *values;
	size_t values_cap;
	size_t at, len;
	uint8_t buffer[BUFFER];
};

struct kineto_spool_reader {
	const struct kineto_spool *spool;
	struct input **heap; /* by the start of their next record */
	size_t n_heap;
	struct input **inputs; /* owned, all */
	size_t n_inputs;
	size_t next; /* of what is in memory */
	int advance; /* the first of the heap has been handed out */
};

define_cleanup(reader_freep, struct kineto_spool_reader *, kineto_spool_reader_free);

void kineto_spool_reader_free(struct kineto_spool_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_inputs; i++) {
		free(r->inputs[i]->values);
		free(r->inputs[i]);
	}
	free(r->inputs);
	free(r->heap);
	free(r);
}

static int refill(struct input *in, int fd)
{
	size_t keep = in->len - in->at;
	size_t want = sizeof(in->buffer) - keep;

	memmove(in->buffer, in->buffer + in->at, keep);
	in->at = 0;
	in->len = keep;
	if (want > in->left)
		want = in->left;
	while (want > 0) {
		ssize_t n = pread(fd, in->buffer + in->len, want, (off_t)in->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		in->len += (size_t)n;
		in->offset += (uint64_t)n;
		in->left -= (uint64_t)n;
		want -= (size_t)n;
	}
	return 0;
}

static int get(struct input *in, int fd, uint64_t *ret)
{
	uint64_t v = 0;

	if (in->len - in->at < VARINT && in->left > 0) {
		int r = refill(in, fd);

		if (r < 0)
			return r;
	}
	for (unsigned shift = 0; in->at < in->len && shift < 64; shift += 7) {
		uint8_t b = in->buffer[in->at++];

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*ret = v;
			return 0;
		}
	}
	return -EIO;
}

/* Decodes the run's next record into in->e. */
static int decode(struct input *in, const struct kineto_spool *p)
{
	uint64_t start = 0, duration = 0, template = 0, track = 0, v;
	int fd = p->spill->fd;
	int r = get(in, fd, &start);

	if (r == 0)
		r = get(in, fd, &duration);
	if (r == 0)
		r = get(in, fd, &template);
	if (r == 0)
		r = get(in, fd, &track);
	if (r < 0 || template >= p->templates->n)
		return r < 0 ? r : -EIO;
	in->e.start_ns = (int64_t)((uint64_t)in->e.start_ns + start);
	in->e.duration_ns = unzigzag(duration);
	in->e.template = (uint32_t) template;
	in->e.track = (uint32_t)track;
	if (array_reserve(&in->values, p->templates->templates[template].n_varying,
			  &in->values_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->templates->templates[template].n_varying; i++) {
		r = get(in, fd, &v);
		if (r < 0)
			return r;
		in->values[i] = unzigzag(v);
	}
	in->records--;
	return 0;
}

/* Moves the first of the heap to where it belongs. */
static void sift(struct kineto_spool_reader *r)
{
	struct input *moved = r->heap[0];
	size_t at = 0, child;

	while ((child = at * 2 + 1) < r->n_heap) {
		if (child + 1 < r->n_heap &&
		    r->heap[child + 1]->e.start_ns < r->heap[child]->e.start_ns)
			child++;
		if (moved->e.start_ns <= r->heap[child]->e.start_ns)
			break;
		r->heap[at] = r->heap[child];
		at = child;
	}
	r->heap[at] = moved;
}

static int input_order(const void *a, const void *b)
{
	return by_start(&(*(struct input *const *)a)->e, &(*(struct input *const *)b)->e);
}

int kineto_spool_read(const struct kineto_spool *p, struct kineto_spool_reader **ret)
{
	scoped(reader_freep) struct kineto_spool_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->spool = p;
	r->inputs = calloc(p->n_runs + 1, sizeof(struct input *));
	r->heap = calloc(p->n_runs + 1, sizeof(struct input *));
	if (!r->inputs || !r->heap)
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
		e = decode(in, p);
		if (e < 0)
			return e;
		r->heap[r->n_heap++] = in;
	}
	qsort(r->heap, r->n_heap, sizeof(struct input *), input_order);
	*ret = take(r);
	return 0;
}

int kineto_spool_next(struct kineto_spool_reader *r, struct fmt_event *ret, const int64_t **values)
{
	const struct kineto_spool *p = r->spool;

	if (p->n_runs == 0) {
		if (r->next == p->n)
			return 0;
		*ret = p->events[r->next++];
		*values = p->values ? p->values + ret->first_value : NULL;
		return 1;
	}
	if (r->advance) {
		struct input *in = r->heap[0];
		bool more = in->records > 0;
		int e = more ? decode(in, p) : 0;

		if (e < 0)
			return e;
		if (!more)
			r->heap[0] = r->heap[--r->n_heap];
		if (r->n_heap > 0)
			sift(r);
	}
	r->advance = 0;
	if (r->n_heap == 0)
		return 0;
	*ret = r->heap[0]->e;
	*values = r->heap[0]->values;
	r->advance = 1;
	return 1;
}
