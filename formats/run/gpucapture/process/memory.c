/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/memory.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/json.h"

#define MOST_ENDED 65536 /* limit for rows of freed allocations */

void rec_memory_done(struct rec_memory *m)
{
	free(m->memory.spans);
	free(m->reserved.spans);
	free(m->rows);
	free(m->unused);
	free(m->ids);
	*m = (struct rec_memory){0};
}

/* ---- ranges */

/* Returns the first span that ends after the address. */
static size_t span_from(const struct rec_memory_spans *s, uint64_t address)
{
	return array_bound(i, 0, s->n, s->spans[i].end <= address);
}

static const struct rec_memory_span *span_at(const struct rec_memory_spans *s, uint64_t address)
{
	size_t at = span_from(s, address);

	return at < s->n && s->spans[at].start <= address ? &s->spans[at] : NULL;
}

static int insert_span(struct rec_memory_spans *s, const struct rec_memory_span *made)
{
	size_t at = span_from(s, made->start);

	if (array_reserve(&s->spans, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	memmove(s->spans + at + 1, s->spans + at, (s->n - at) * sizeof(*s->spans));
	s->spans[at] = *made;
	s->n++;
	return 0;
}

/* Ends a span. Reuses the row of the allocation if there are too many rows of freed ones. */
static int end_span(struct rec_memory *m, struct rec_memory_spans *s, size_t at, uint64_t by)
{
	uint32_t row = s->spans[at].row;

	memmove(s->spans + at, s->spans + at + 1, (s->n - at - 1) * sizeof(*s->spans));
	s->n--;
	m->rows[row].ended = by;
	if (m->n_ended < MOST_ENDED) {
		m->n_ended++;
		return 0;
	}
	if (array_reserve(&m->unused, m->n_unused + 1, &m->unused_cap) < 0)
		return -ENOMEM;
	m->rows[row].number = 0;
	m->unused[m->n_unused++] = row;
	m->left_out++;
	return 0;
}

static int end_overlapped(struct rec_memory *m, struct rec_memory_spans *s, uint64_t start,
			  uint64_t end, uint64_t by)
{
	size_t at = span_from(s, start);
	int r = 0;

	while (r == 0 && at < s->n && s->spans[at].start < end)
		r = end_span(m, s, at, by);
	return r;
}

static int end_at(struct rec_memory *m, struct rec_memory_spans *s, uint64_t address, uint64_t by)
{
	size_t at = span_from(s, address);

	return at < s->n && s->spans[at].start == address ? end_span(m, s, at, by) : 0;
}

/* ---- allocations */

static int new_row(struct rec_memory *m, const struct rec_allocation *made, uint32_t *ret)
{
	if (m->n_unused > 0) {
		*ret = m->unused[--m->n_unused];
	} else {
		if (array_reserve(&m->rows, m->n + 1, &m->cap) < 0)
			return -ENOMEM;
		*ret = (uint32_t)m->n++;
	}
	m->rows[*ret] = *made;
	m->rows[*ret].number = ++m->last_number;
	return 0;
}

int rec_memory_device(const struct rec_allocation *a)
{
	return a->kind == REC_MEMORY_HOST || a->kind == REC_MEMORY_REGISTERED ? -1 : a->device;
}

static int add_id(struct rec_memory *m, const struct rec_allocation *made, uint32_t number)
{
	if (array_reserve(&m->ids, m->n_ids + 1, &m->ids_cap) < 0)
		return -ENOMEM;
	m->ids[m->n_ids++] =
		(struct rec_memory_id){made->made - 1, number, rec_memory_device(made)};
	m->ids_sorted = false;
	return 0;
}

int rec_memory_add(struct rec_memory *m, const struct rec_allocation *made)
{
	struct rec_memory_spans *s =
		made->kind == REC_MEMORY_RESERVATION ? &m->reserved : &m->memory;
	struct rec_memory_span span = {made->address, made->address + (made->bytes ?: 1), 0};
	const struct rec_allocation *known = rec_memory_find(m, made->address);
	int r;

	if (span.end <= span.start)
		return 0;
	if (known && known->kind == REC_MEMORY_VARIABLE && known->kind == made->kind &&
	    known->address == made->address && known->bytes == made->bytes)
		return add_id(m, made, known->number);
	r = end_overlapped(m, s, span.start, span.end, made->made);
	if (r == 0)
		r = new_row(m, made, &span.row);
	if (r == 0)
		r = insert_span(s, &span);
	return r < 0 ? r : add_id(m, made, m->last_number);
}

const struct rec_allocation *rec_memory_find(const struct rec_memory *m, uint64_t address)
{
	const struct rec_memory_span *span =
		span_at(&m->memory, address) ?: span_at(&m->reserved, address);

	return span ? &m->rows[span->row] : NULL;
}

int rec_memory_remove(struct rec_memory *m, uint64_t address, uint64_t by)
{
	return end_at(m, &m->memory, address, by);
}

int rec_memory_remove_range(struct rec_memory *m, uint64_t address, uint64_t bytes, uint64_t by)
{
	size_t at = span_from(&m->memory, address);

	if (at < m->memory.n && m->memory.spans[at].start < address)
		address = m->memory.spans[at].end;
	return end_overlapped(m, &m->memory, address, address + bytes, by);
}

int rec_memory_remove_reserved(struct rec_memory *m, uint64_t address, uint64_t by)
{
	return end_at(m, &m->reserved, address, by);
}

int rec_memory_remove_if(struct rec_memory *m,
			 bool (*gone)(const struct rec_allocation *a, uint64_t value),
			 uint64_t value, uint64_t by)
{
	int r = 0;

	for (size_t i = m->memory.n; i-- > 0 && r == 0;)
		if (gone(&m->rows[m->memory.spans[i].row], value))
			r = end_span(m, &m->memory, i, by);
	return r;
}

static int by_id(const void *a, const void *b)
{
	const struct rec_memory_id *x = a, *y = b;

	return array_order(x->id, y->id);
}

uint32_t rec_memory_number(struct rec_memory *m, uint64_t call, int *ret_device)
{
	size_t at;

	if (!m->ids_sorted && m->n_ids > 0)
		qsort(m->ids, m->n_ids, sizeof(*m->ids), by_id);
	m->ids_sorted = true;
	at = array_bound(i, 0, m->n_ids, m->ids[i].id < call);
	*ret_device = -1;
	if (at == m->n_ids || m->ids[at].id != call)
		return 0;
	*ret_device = m->ids[at].device;
	return m->ids[at].number;
}

/* ---- the fact */

static const char *const kind_names[] = {
	[REC_MEMORY_DEVICE] = "device",	    [REC_MEMORY_MANAGED] = "managed",
	[REC_MEMORY_HOST] = "host",	    [REC_MEMORY_REGISTERED] = "registered",
	[REC_MEMORY_VARIABLE] = "variable", [REC_MEMORY_RESERVATION] = "reservation",
	[REC_MEMORY_MAPPING] = "mapping",   [REC_MEMORY_IMPORTED] = "imported",
};

static void put_row(struct fmt_json *j, const struct fmt_names *names,
		    const struct rec_allocation *a)
{
	fmt_json_open(j, NULL, '{');
	fmt_json_u64(j, "id", a->number);
	fmt_json_str(j, "kind", kind_names[a->kind]);
	fmt_json_u64(j, "address", a->address);
	fmt_json_u64(j, "bytes", a->bytes);
	if (rec_memory_device(a) >= 0)
		fmt_json_i64(j, "device", a->device);
	if (a->stream > 0)
		fmt_json_u64(j, "stream", a->stream);
	if (a->kind == REC_MEMORY_MAPPING) {
		fmt_json_u64(j, "handle", a->handle);
		fmt_json_u64(j, "offset", a->offset);
	}
	if (a->kind == REC_MEMORY_VARIABLE) {
		fmt_json_str(j, "name", fmt_string(names, a->name, NULL));
		fmt_json_u64(j, "module", a->handle);
	}
	fmt_json_u64(j, "made", a->made);
	if (a->ended > 0)
		fmt_json_u64(j, "ended", a->ended);
	fmt_json_close(j, '}');
}

static int by_number(const void *a, const void *b)
{
	const struct rec_allocation *const *x = a, *const *y = b;

	return array_order((*x)->number, (*y)->number);
}

void rec_memory_json(struct rec_memory *m, const struct fmt_names *names,
		     bool (*shown)(const struct rec_allocation *a, const void *context),
		     const void *context, struct text *ret)
{
	scoped(free_ptr) const struct rec_allocation **rows = malloc((m->n + 1) * sizeof(*rows));
	struct fmt_json j = {.text = ret};
	size_t n = 0;

	for (size_t i = 0; rows && i < m->n; i++)
		if (m->rows[i].number && shown(&m->rows[i], context))
			rows[n++] = &m->rows[i];
	if (!rows)
		ret->error = -ENOMEM;
	if (n == 0)
		return;
	qsort(rows, n, sizeof(*rows), by_number);
	fmt_json_open(&j, NULL, '[');
	for (size_t i = 0; i < n; i++)
		put_row(&j, names, rows[i]);
	fmt_json_close(&j, ']');
	ret->len -= !ret->error; /* the line's end */
}
