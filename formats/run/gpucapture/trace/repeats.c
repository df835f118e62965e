/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/repeats.h"

#include "base/array.h"
#include "base/scope.h"

/* If more than MANY iterations are found, each gets at least LEAST calls and operations. */
#define MANY 4096
#define LEAST 1024

#define MOST_GONE_ON                                                                               \
	60 /* minimum share of the launches, in percent, that a continuing repetition must cover   \
	    */

static int64_t end_of(const struct fmt_event *e)
{
	return e->start_ns + e->duration_ns;
}

/* Returns the end of the last iteration: where it stops repeating the previous one, plus the rest
 * of that one's duration. */
static int64_t end_of_last(const struct fmt_names *names, const struct fmt_run_rank *rank,
			   uint32_t before, uint32_t last)
{
	const struct fmt_event *e = rank->events;
	uint32_t same = 0;

	while (last + same < rank->n_events && before + same < last &&
	       e[last + same].track == e[last].track &&
	       fmt_template(names, e[last + same].template)->name ==
		       fmt_template(names, e[before + same].template)->name)
		same++;
	if (same == 0)
		return end_of(&e[last]);
	return end_of(&e[last + same - 1]) + e[last].start_ns - end_of(&e[before + same - 1]);
}

/* Replaces the launches that begin an iteration by their outermost enclosing calls: events of a
 * track are sorted, enclosing before enclosed. */
static void enclose(const struct fmt_run_rank *run, struct fmt_run_launch *list, size_t n)
{
	const struct fmt_event *e = run->events;
	uint32_t at = n > 0 ? list[0].call : 0, outer;

	while (at > 0 && e[at - 1].track == e[at].track)
		at--;
	outer = at;
	for (size_t i = 0; i < n; i++) {
		for (; at < list[i].call; at++)
			if (end_of(&e[at]) > end_of(&e[outer]))
				outer = at;
		if (end_of(&e[list[i].call]) <= end_of(&e[outer]))
			list[i].call = outer;
	}
}

/* Finds where the repetition of the previous segment continues; *n is 0 if it does not. */
static int continue_pattern(const struct rec_pattern *last, const uint32_t *symbols,
			    size_t n_symbols, size_t **ret, size_t *n)
{
	size_t *starts = malloc((n_symbols + 1) * sizeof(*starts)), at = 0;

	*n = 0;
	if (!starts)
		return -ENOMEM;
	while (last->n > 0 && at + last->n <= n_symbols) {
		bool same = memcmp(symbols + at, last->symbols, last->n * sizeof(*symbols)) == 0;

		if (same)
			starts[(*n)++] = at;
		at += same ? last->n : 1;
	}
	if (*n * last->n < n_symbols / 100.0 * MOST_GONE_ON)
		*n = 0;
	*ret = starts;
	return 0;
}

static int remember_pattern(struct rec_pattern *p, const uint32_t *symbols, size_t n)
{
	uint32_t *copy = malloc((n + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, symbols, n * sizeof(*copy));
	free(p->symbols);
	*p = (struct rec_pattern){copy, n};
	return 0;
}

static int find_repeat(struct rec_pattern *last, const uint32_t *symbols, size_t n, size_t **starts,
		       size_t *n_starts)
{
	int r = continue_pattern(last, symbols, n, starts, n_starts);

	if (r == 0 && *n_starts == 0) {
		free(take(*starts));
		r = fmt_iterations_find(symbols, n, starts, n_starts);
	}
	if (r < 0 || *n_starts < 2)
		return r;
	return remember_pattern(last, symbols + (*starts)[*n_starts - 2],
				(*starts)[*n_starts - 1] - (*starts)[*n_starts - 2]);
}

int rec_repeats_find(const struct fmt_run *run, const struct fmt_run_rank *rank,
		     const struct fmt_run_part *part, int64_t from_ns, struct rec_pattern *last,
		     struct fmt_iterations *s)
{
	scoped(free_ptr) struct fmt_run_launch *list = NULL;
	scoped(free_ptr) uint32_t *symbols = malloc((rank->n_events + 1) * sizeof(*symbols));
	scoped(free_ptr) size_t *starts = NULL;
	size_t n = 0, n_starts = 0;
	int r = symbols ? fmt_iterations_launches(rank->events, rank->n_events, part->call_of,
						  from_ns, &list, &n)
			: -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		symbols[i] = fmt_template(run->names, rank->events[list[i].event].template)->name;
	if (r == 0)
		r = find_repeat(last, symbols, n, &starts, &n_starts);
	for (size_t i = 0; i < n_starts && r == 0; i++)
		list[i] = list[starts[i]];
	if (r == 0)
		enclose(rank, list, n_starts);
	for (size_t i = 0; i < n_starts && r == 0; i++) {
		int64_t start = rank->events[list[i].call].start_ns;
		int64_t end = i + 1 < n_starts ? rank->events[list[i + 1].call].start_ns
					       : end_of_last(run->names, rank,
							     list[i - (i > 0)].call, list[i].call);

		r = fmt_iterations_add(s, (int64_t)i, start, end > start ? end - start : 0);
	}
	return r;
}

size_t rec_repeats_group_size(const struct fmt_run_rank *rank)
{
	size_t n = rank->n_iterations, each = n > 0 ? rank->n_events / n : 0;

	return n <= MANY || each >= LEAST ? 1 : (LEAST + each) / (each + 1);
}

void rec_repeats_group(struct fmt_run_rank *rank, size_t size, bool from_last)
{
	struct fmt_iteration *all = rank->iterations;
	size_t n = 0, first = from_last ? rank->n_iterations % size : 0, end;

	for (size_t i = 0; i < rank->n_iterations; i = end) {
		const struct fmt_iteration *last;

		end = i > 0 || first == 0 ? i + size : first;
		end = end < rank->n_iterations ? end : rank->n_iterations;
		last = &all[end - 1];
		all[n] = all[i];
		all[n].number = all[0].number + (int64_t)n;
		all[n++].duration_ns = last->start_ns + last->duration_ns - all[i].start_ns;
	}
	rank->n_iterations = n;
}
