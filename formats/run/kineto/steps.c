/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/steps.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/repetition.h"

#include <stdbool.h>

static int by_start(const void *a, const void *b)
{
	const struct fmt_iteration *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns) ?: array_order(y->duration_ns, x->duration_ns)
	       ?: array_order(x->number, y->number);
}

static int by_number(const void *a, const void *b)
{
	const struct fmt_iteration *x = a, *y = b;

	return array_order(x->number, y->number) ?: by_start(a, b);
}

/* Sorts iterations; drops those that begin within another one, or repeat a number. */
static void sort_and_filter(struct fmt_iterations *s)
{
	size_t n = 0;

	if (s->n == 0)
		return;
	qsort(s->list, s->n, sizeof(*s->list), by_number);
	for (size_t i = 0; i < s->n; i++) {
		if (n == 0 || s->list[i].number != s->list[n - 1].number)
			s->list[n++] = s->list[i];
	}
	qsort(s->list, n, sizeof(*s->list), by_start);
	s->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct fmt_iteration *last = s->n ? &s->list[s->n - 1] : NULL;

		if (!last || s->list[i].start_ns - last->start_ns >= last->duration_ns)
			s->list[s->n++] = s->list[i];
	}
}

/* 1 when something was launched from `from` on. */
static bool launches_since(const struct kineto_rank *k, int64_t from)
{
	for (size_t i = 0; i < k->n_events; i++) {
		if (k->call_of[i] != KINETO_NONE && k->events[k->call_of[i]].start_ns >= from)
			return true;
	}
	return false;
}

/* Drops a last step that launches nothing and lasts less than a hundredth of the others: the
 * profiler ended within a step. */
static int drop_stub(struct fmt_iterations *s, const struct kineto_rank *k)
{
	scoped(free_ptr) int64_t *durations = malloc((s->n + 1) * sizeof(*durations));
	const struct fmt_iteration *last = s->n ? &s->list[s->n - 1] : NULL;

	if (!durations)
		return -ENOMEM;
	if (s->n < 2)
		return 0;
	for (size_t i = 0; i < s->n; i++)
		durations[i] = s->list[i].duration_ns;
	qsort(durations, s->n, sizeof(*durations), array_by_i64);
	if (last->duration_ns < durations[s->n / 2] / 100 && !launches_since(k, last->start_ns))
		s->n--;
	return 0;
}

static int from_profiler(struct fmt_iterations *s, const struct kineto_rank *k,
			 const struct kineto_templates *templates)
{
	const struct kineto_notes *notes = &k->notes[KINETO_STEP];

	for (size_t i = 0; i < notes->n; i++) {
		const struct kineto_note *m = &notes->notes[i];
		int r = fmt_iterations_add(s, templates->templates[m->template].number, m->start_ns,
					   m->duration_ns);

		if (r < 0)
			return r;
	}
	sort_and_filter(s);
	return drop_stub(s, k);
}

/* ---- numbered annotations ---------------------------------------------------------------- */

struct named {
	const char *prefix;
	struct fmt_iteration step;
};

static int by_prefix(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->prefix, y->prefix);

	return order ? order : by_start(&x->step, &y->step);
}

/* Returns the time that annotations of one prefix cover, if they look like iterations: at least
 * two, consecutive, with ascending numbers. Else -1. */
static int64_t covered_ns(const struct named *list, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fmt_iteration *s = &list[i].step, *before = &list[i - (i > 0)].step;

		if (i > 0 && (s->number <= before->number ||
			      s->start_ns - before->start_ns < before->duration_ns))
			return -1;
		if (__builtin_add_overflow(sum, s->duration_ns, &sum))
			return -1;
	}
	return n < 2 ? -1 : sum;
}

static int from_annotations(struct fmt_iterations *s, const struct kineto_rank *k,
			    const struct kineto_templates *templates)
{
	const struct kineto_notes *notes = &k->notes[KINETO_NUMBERED];
	scoped(free_ptr) struct named *list = malloc((notes->n + 1) * sizeof(*list));
	size_t best = 0, n_best = 0;
	int64_t most = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < notes->n; i++) {
		const struct kineto_note *m = &notes->notes[i];
		const struct kineto_template *template = &templates->templates[m->template];

		list[i] = (struct named){templates->strings->strings[template->prefix].s,
					 {template->number, m->start_ns, m->duration_ns}};
	}
	if (notes->n > 0)
		qsort(list, notes->n, sizeof(*list), by_prefix);
	for (size_t from = 0, to; from < notes->n; from = to) {
		for (to = from; to < notes->n && strcmp(list[from].prefix, list[to].prefix) == 0;)
			to++;
		if (covered_ns(list + from, to - from) > most) {
			most = covered_ns(list + from, to - from);
			best = from;
			n_best = to - from;
		}
	}
	/* A period that covers little of the run is a part of an iteration. */
	if (most < (k->last_ns - k->first_ns) / 2)
		return 0;
	for (size_t i = best; i < best + n_best; i++) {
		const struct fmt_iteration *step = &list[i].step;
		int r = fmt_iterations_add(s, step->number, step->start_ns, step->duration_ns);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- repetition -------------------------------------------------------------------------- */

static int from_repetition(struct fmt_iterations *s, const struct kineto_rank *k,
			   const struct kineto_templates *templates)
{
	scoped(free_ptr) struct fmt_run_launch *list = NULL;
	scoped(free_ptr) uint32_t *symbols = NULL;
	scoped(free_ptr) size_t *starts = NULL;
	size_t n, n_starts;
	int r = fmt_iterations_launches(k->events, k->n_events, k->call_of, &list, &n);

	if (r < 0)
		return r;
	symbols = malloc((n + 1) * sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		symbols[i] = templates->templates[k->events[list[i].event].template].name;
	r = fmt_iterations_find(symbols, n, &starts, &n_starts);
	for (size_t i = 0; i < n_starts && r == 0; i++) {
		int64_t from = k->events[list[starts[i]].call].start_ns;
		int64_t to = i + 1 < n_starts ? k->events[list[starts[i + 1]].call].start_ns
					      : k->last_ns;

		r = fmt_iterations_add(s, (int64_t)i, from, to - from);
	}
	return r;
}

int kineto_find_iterations(const struct kineto_rank *k, const struct kineto_templates *templates,
			   struct fmt_iteration **ret, size_t *n_ret)
{
	scoped(fmt_iterations_done) struct fmt_iterations s = {0};
	int r = from_profiler(&s, k, templates);

	if (r == 0 && s.n == 0)
		r = from_annotations(&s, k, templates);
	if (r == 0 && s.n == 0)
		r = from_repetition(&s, k, templates);
	sort_and_filter(&s);
	if (r == 0 && s.n == 0)
		r = fmt_iterations_add(&s, 0, k->first_ns <= k->last_ns ? k->first_ns : 0,
				       k->first_ns <= k->last_ns ? k->last_ns - k->first_ns : 0);
	if (r < 0)
		return r;
	*n_ret = s.n;
	*ret = take(s.list);
	return 0;
}
