/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/launches.h"

#include "base/array.h"
#include "base/scope.h"

#define MOST_LAUNCHES (1u << 17) /* searched at once */
#define LEAST_COVERED 60 /* percent of the launches that a continuing repetition must cover */

void rec_launches_done(struct rec_launches *l)
{
	free(l->list);
	free(l->pattern);
	fmt_iterations_done(&l->found);
}

/* Finds where the repetition of the earlier launches continues; *n is 0 if it does not. */
static int continue_pattern(const struct rec_launches *l, const uint32_t *symbols, bool is_last,
			    size_t **ret, size_t *n)
{
	size_t *starts = malloc((l->n + 1) * sizeof(*starts)), at = 0;

	*n = 0;
	if (!starts)
		return -ENOMEM;
	while (l->n_pattern > 0 && at + l->n_pattern <= l->n) {
		bool same = memcmp(symbols + at, l->pattern, l->n_pattern * sizeof(*symbols)) == 0;

		if (same)
			starts[(*n)++] = at;
		at += same ? l->n_pattern : 1;
	}
	if (!is_last && *n * l->n_pattern < l->n / 100.0 * LEAST_COVERED)
		*n = 0;
	*ret = starts;
	return 0;
}

static int remember_pattern(struct rec_launches *l, const uint32_t *symbols, size_t n)
{
	uint32_t *copy = malloc((n + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, symbols, n * sizeof(*copy));
	free(l->pattern);
	l->pattern = copy;
	l->n_pattern = n;
	return 0;
}

/* Finds the launches that begin an iteration. The first iteration needs a second one. */
static int find_starts(struct rec_launches *l, bool is_last, size_t **starts, size_t *n)
{
	scoped(free_ptr) uint32_t *symbols = malloc((l->n + 1) * sizeof(*symbols));
	int r;

	if (!symbols)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		symbols[i] = l->list[i].name;
	r = continue_pattern(l, symbols, is_last, starts, n);
	if (r == 0 && *n == 0) {
		free(take(*starts));
		r = fmt_iterations_find(symbols, l->n, starts, n);
	}
	if (r == 0 && *n >= 2)
		return remember_pattern(l, symbols + (*starts)[*n - 2],
					(*starts)[*n - 1] - (*starts)[*n - 2]);
	if (l->found.n == 0)
		*n = 0;
	return r;
}

/* Adds the iterations among the launches. Unless these are the last, keeps the last iteration,
 * whose end is not known. */
static int add_iterations(struct rec_launches *l, bool is_last)
{
	scoped(free_ptr) size_t *starts = NULL;
	int64_t duration_ns = 0;
	size_t n = 0, from;
	int r = find_starts(l, is_last, &starts, &n);

	for (size_t i = 0; i + !is_last < n && r == 0; i++) {
		int64_t start_ns = l->list[starts[i]].start_ns;

		if (i + 1 < n)
			duration_ns = l->list[starts[i + 1]].start_ns - start_ns;
		else if (l->found.n > 0)
			duration_ns = l->found.list[l->found.n - 1].duration_ns;
		r = fmt_iterations_add(&l->found, (int64_t)l->found.n, start_ns,
				       duration_ns > 0 ? duration_ns : 0);
	}
	from = !is_last && n > 0 && starts[n - 1] > 0 ? starts[n - 1] : l->n;
	if (from < l->n / 4) /* else the next search would follow soon */
		from = l->n;
	l->n -= from;
	memmove(l->list, l->list + from, l->n * sizeof(*l->list));
	return r;
}

int rec_launches_add(struct rec_launches *l, const struct rec_launch *launch)
{
	int r = l->n < MOST_LAUNCHES ? 0 : add_iterations(l, false);

	if (r == 0 && array_reserve(&l->list, l->n + 1, &l->cap) < 0)
		r = -ENOMEM;
	if (r == 0)
		l->list[l->n++] = *launch;
	l->n_all++;
	return r;
}

int rec_launches_end(struct rec_launches *l)
{
	return l->n > 0 ? add_iterations(l, true) : 0;
}
