/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/passed.h"

#include "base/array.h"
#include "base/scope.h"

#include <stdbool.h>

#define LEFT 8		  /* a queue contains at most so many events at the end of the recording */
#define LEAST 6		  /* waits of a stream that show a queue */
#define MOST_CLASSES 1000 /* classes of events that one class of waits is compared with */

/* An event, recorded behind `op`, or a wait for one. A class of events has one stream and name of
 * `op`; so do waits of streams, on one thread. Waits of the host are one class. */
struct item {
	uint32_t call, op;	       /* op: of a wait, the next one; INFER_NONE: the host waits */
	uint32_t thread, class_thread; /* class_thread: 0 unless it distinguishes classes */
};

struct items {
	struct item *items;
	size_t n;
};

/* Events of a class, in order. */
struct event_class {
	const struct item *items;
	size_t n;
};

struct classes {
	struct event_class *classes;
	size_t n, cap;
};

static int compare_class(const struct infer_view *v, const struct item *a, const struct item *b)
{
	const struct infer_op *p, *q;

	if (a->op == INFER_NONE || b->op == INFER_NONE)
		return array_order(a->op, b->op);
	p = &v->ops[a->op];
	q = &v->ops[b->op];
	return array_order(p->stream, q->stream)
	       ?: array_order(infer_op_name(v, p), infer_op_name(v, q))
	       ?: array_order(a->class_thread, b->class_thread);
}

static int by_class(const void *x, const void *y, void *view)
{
	const struct infer_view *v = view;
	const struct item *a = x, *b = y;

	return compare_class(v, a, b)
	       ?: array_order(v->calls[a->call].start_ns, v->calls[b->call].start_ns)
	       ?: array_order(a->call, b->call);
}

static bool has_records(const struct infer_view *v)
{
	for (uint32_t i = 0; i < v->n_calls; i++)
		if (v->calls[i].api == INFER_API_RECORD_EVENT)
			return true;
	return false;
}

/* Lists events, except those behind a collective, which the process group records. If none were
 * recorded, there may be one behind each copy. */
static size_t list_events(const struct infer_view *v, struct item *ret)
{
	bool recorded = has_records(v);
	size_t n = 0;

	for (uint32_t t = 0; t < v->n_threads; t++) {
		uint32_t launched = INFER_NONE;

		for (uint32_t i = v->threads[t].first; i < v->threads[t].end; i++) {
			const struct infer_call *c = &v->calls[i];

			if (c->n_ops > 0)
				launched = v->launched[c->first_op + c->n_ops - 1];
			if (launched == INFER_NONE || v->ops[launched].kind == FMT_COLLECTIVE)
				continue;
			if (recorded ? c->api == INFER_API_RECORD_EVENT
				     : c->n_ops > 0 && v->ops[launched].kind == FMT_MEMCPY)
				ret[n++] = (struct item){i, launched, t, 0};
		}
	}
	return n;
}

static size_t list_waits(const struct infer_view *v, struct item *ret)
{
	size_t n = 0;

	for (uint32_t t = 0; t < v->n_threads; t++) {
		uint32_t next = INFER_NONE;

		for (uint32_t i = v->threads[t].end; i-- > v->threads[t].first;) {
			const struct infer_call *c = &v->calls[i];

			if (c->n_ops > 0)
				next = v->launched[c->first_op];
			if (c->api == INFER_API_EVENT_SYNC)
				ret[n++] = (struct item){i, INFER_NONE, t, 0};
			else if (c->api == INFER_API_STREAM_WAIT && next != INFER_NONE)
				ret[n++] = (struct item){i, next, t, t};
		}
	}
	return n;
}

/* Returns true if each of the n waits may be for the event of the same number. */
static bool may_be_passed(const struct infer_view *v, const struct item *waits,
			  const struct item *events, size_t n)
{
	bool host = waits->op == INFER_NONE;

	if (!host && v->ops[waits->op].stream == v->ops[events->op].stream)
		return false;
	for (size_t i = 0; i < n; i++)
		if (v->calls[events[i].call].end_ns > v->calls[waits[i].call].start_ns ||
		    (!host && (waits->thread == events[i].thread ||
			       v->ops[events[i].op].end_ns >
				       v->ops[waits[i].op].start_ns + INFER_TOLERANCE_NS)))
			return false;
	return true;
}

static size_t class_end(const struct infer_view *v, const struct items *from, size_t first)
{
	size_t end = first;

	while (end < from->n && compare_class(v, &from->items[first], &from->items[end]) == 0)
		end++;
	return end;
}

static int by_length(const void *x, const void *y)
{
	const struct event_class *a = x, *b = y;

	return array_order(a->n, b->n);
}

/* Lists the classes of events by their length. */
static int list_classes(const struct infer_view *v, const struct items *events, struct classes *ret)
{
	for (size_t first = 0, end; first < events->n; first = end) {
		end = class_end(v, events, first);
		if (array_reserve(&ret->classes, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		ret->classes[ret->n++] = (struct event_class){&events->items[first], end - first};
	}
	if (ret->n > 0)
		qsort(ret->classes, ret->n, sizeof(*ret->classes), by_length);
	return 0;
}

/* Finds the only class of events that n waits may be for; NULL: none, or too many to compare. */
static const struct item *find_class(const struct infer_view *v, const struct classes *events,
				     const struct item *waits, size_t n)
{
	bool host = waits->op == INFER_NONE;
	size_t low = array_bound(i, 0, events->n, events->classes[i].n < n);
	size_t end = array_bound(i, low, events->n, events->classes[i].n <= n + (host ? 0 : LEFT));
	const struct item *ret = NULL;

	if (end - low > MOST_CLASSES || (!host && n < LEAST))
		return NULL;
	for (size_t i = low; i < end; i++) {
		if (!may_be_passed(v, waits, events->classes[i].items, n))
			continue;
		if (ret)
			return NULL;
		ret = events->classes[i].items;
	}
	return ret;
}

/* Returns true if the event is recorded directly before a call that makes a stream wait. */
static bool is_direct(const struct infer_view *v, const struct item *event)
{
	return event->call + 1 < v->threads[event->thread].end &&
	       v->calls[event->call + 1].api == INFER_API_STREAM_WAIT;
}

/* Removes direct events, unless most of their class are not: then that is a coincidence. */
static void remove_direct(const struct infer_view *v, struct items *events)
{
	size_t n = 0;

	for (size_t first = 0, end; first < events->n; first = end) {
		size_t direct = 0;

		end = class_end(v, events, first);
		for (size_t i = first; i < end; i++)
			direct += is_direct(v, &events->items[i]);
		for (size_t i = first; i < end; i++)
			if (direct * 2 < end - first || !is_direct(v, &events->items[i]))
				events->items[n++] = events->items[i];
	}
	events->n = n;
}

static void sort_items(const struct infer_view *v, struct items *i)
{
	if (i->n > 0)
		qsort_r(i->items, i->n, sizeof(*i->items), by_class, (void *)v);
}

static void items_done(struct items *i)
{
	free(i->items);
}

static void classes_done(struct classes *c)
{
	free(c->classes);
}

long infer_list_passed(const struct infer_view *v, struct infer_passed **ret)
{
	scoped(items_done) struct items waits = {malloc((v->n_calls + 1ul) * sizeof(struct item))};
	scoped(items_done) struct items events = {malloc((v->n_calls + 1ul) * sizeof(struct item))};
	scoped(classes_done) struct classes classes = {0};
	scoped(free_ptr) struct infer_passed *out = malloc((v->n_calls + 1ul) * sizeof(*out));
	size_t n = 0;

	if (!waits.items || !events.items || !out)
		return -ENOMEM;
	waits.n = list_waits(v, waits.items);
	events.n = list_events(v, events.items);
	sort_items(v, &waits);
	sort_items(v, &events);
	remove_direct(v, &events);
	if (list_classes(v, &events, &classes) < 0)
		return -ENOMEM;
	for (size_t first = 0, end; first < waits.n; first = end) {
		const struct item *of;
		uint32_t class = (uint32_t)n;

		end = class_end(v, &waits, first);
		of = find_class(v, &classes, &waits.items[first], end - first);
		for (size_t i = first; of && i < end; i++, of++)
			out[n++] =
				(struct infer_passed){of->call, of->op, waits.items[i].call, class};
	}
	*ret = take(out);
	return (long)n;
}
