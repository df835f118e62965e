/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_memory.h"

#include "base/array.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/json.h"

void fmt_cause_memory_done(struct fmt_cause_memory *m)
{
	free(m->items);
	memset(m, 0, sizeof(*m));
}

static uint64_t hash_text(const char *s, size_t len)
{
	uint64_t hash = 1;

	for (size_t i = 0; i < len; i++)
		hash = hash * 31 + (uint8_t)s[i];
	return hash;
}

static int add_allocation(struct fmt_cause_memory *m, const char *object, size_t len)
{
	const char *kind;
	size_t kind_len = fmt_json_member_text(object, len, "kind", &kind);

	if (array_reserve(&m->items, m->n + 1, &m->cap) < 0)
		return -ENOMEM;
	m->items[m->n++] = (struct fmt_cause_buffer){
		.number = (uint64_t)fmt_json_member_i64(object, len, "id", 0),
		.bytes = (uint64_t)fmt_json_member_i64(object, len, "bytes", 0),
		.kind = kind_len > 0 ? hash_text(kind, kind_len) : 0,
		.made = (uint64_t)fmt_json_member_i64(object, len, "made", 0),
		.device = (uint32_t)fmt_json_member_i64(object, len, "device", -1) + 1,
		.thread = FMT_CAUSE_NO_THREAD,
	};
	return 0;
}

static int add_rank(struct fmt_cause_memory *m, const struct fmt_names *names, uint32_t rank)
{
	const char *at = fmt_fact_value(names, rank, FMT_FACT_ALLOCATIONS), *end, *object;
	size_t len;
	int r = 0;

	end = at ? at + strlen(at) : NULL;
	while (r == 0 && at && fmt_json_element(&at, end, &object, &len))
		r = add_allocation(m, object, len);
	return r;
}

/* `thread` is the same for all before it is set. */
static int by_class(const void *a, const void *b)
{
	const struct fmt_cause_buffer *x = a, *y = b;

	return array_order(x->device, y->device) ?: array_order(x->kind, y->kind)
	       ?: array_order(x->bytes, y->bytes) ?: array_order(x->thread, y->thread)
	       ?: array_order(x->number, y->number);
}

static int by_number(const void *a, const void *b)
{
	const struct fmt_cause_buffer *x = a, *y = b;

	return array_order(x->number, y->number);
}

static bool are_alike(const struct fmt_cause_buffer *x, const struct fmt_cause_buffer *y)
{
	return x->device == y->device && x->kind == y->kind && x->bytes == y->bytes;
}

int fmt_cause_memory_read(const struct fmt_trace *t, uint32_t rank, struct fmt_cause_memory *ret)
{
	const struct fmt_names *names = fmt_trace_names(t);
	uint32_t last = 0, nth = 0;
	int r = 0;

	for (uint32_t i = 0; i < fmt_trace_n_ranks(t) && r == 0; i++)
		if (fmt_same_process(names, i, rank))
			r = add_rank(ret, names, i);
	if (r < 0 || ret->n == 0)
		return r;
	qsort(ret->items, ret->n, sizeof(ret->items[0]), by_class);
	for (size_t i = 0; i < ret->n; i++) {
		nth += ret->items[i].device != last;
		last = ret->items[i].device;
		ret->items[i].device = nth;
		if (i > 0 && are_alike(&ret->items[i], &ret->items[i - 1]))
			ret->items[i].index = ret->items[i - 1].index + 1;
	}
	qsort(ret->items, ret->n, sizeof(ret->items[0]), by_number);
	return 0;
}

void fmt_cause_memory_index_threads(struct fmt_cause_memory *m)
{
	if (m->n == 0)
		return;
	qsort(m->items, m->n, sizeof(m->items[0]), by_class);
	for (size_t i = 1; i < m->n; i++)
		if (are_alike(&m->items[i], &m->items[i - 1]) &&
		    m->items[i].thread == m->items[i - 1].thread)
			m->items[i].thread_index = m->items[i - 1].thread_index + 1;
	qsort(m->items, m->n, sizeof(m->items[0]), by_number);
}

static const struct fmt_cause_buffer *find_buffer(const struct fmt_cause_memory *m, uint64_t number)
{
	size_t i = array_bound(k, 0, m->n, m->items[k].number < number);

	return i < m->n && m->items[i].number == number ? &m->items[i] : NULL;
}

bool fmt_cause_memory_is_host(const struct fmt_cause_memory *m, uint64_t number)
{
	const struct fmt_cause_buffer *b = find_buffer(m, number);

	return b && b->device == 0;
}

bool fmt_cause_memory_same(const struct fmt_cause_memory *a, uint64_t x,
			   const struct fmt_cause_memory *b, uint64_t y, const int64_t *threads)
{
	const struct fmt_cause_buffer *p = find_buffer(a, x), *q = find_buffer(b, y);

	if (!p || !q)
		return !p && !q && x == y;
	return are_alike(p, q) &&
	       (p->index == q->index ||
		(p->thread != FMT_CAUSE_NO_THREAD && threads[p->thread] == (int64_t)q->thread &&
		 p->thread_index == q->thread_index));
}
