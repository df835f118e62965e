/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpuemu_timing.h"
#include "base/array.h"
#include "base/scope.h"

#include <inttypes.h>
#include <stdio.h>

/* One launch. */
struct launch {
	fmt_str name;
	uint32_t shape[6];
	int64_t ns;
};

struct launches {
	struct launch *items;
	size_t n, cap;
};

static void launches_done(struct launches *l)
{
	free(l->items);
}

define_cleanup(slice_freep, struct fmt_slice *, fmt_slice_free);

/* "[1, 2, 3]" into three numbers; zeroes when there is none. */
static void three(const struct fmt_names *names, const struct fmt_slice *slice,
		  const struct fmt_event *e, const struct fmt_site *site, const char *key,
		  uint32_t *ret)
{
	int64_t value = 0;
	uint32_t index;
	const char *s;

	if (fmt_site_varying(names, site, key, &index) && e->first_value + index < slice->n_values)
		value = slice->values[e->first_value + index];
	else
		fmt_site_const(names, site, key, &value);
	s = fmt_string(names, (fmt_str)value, NULL);
	if (sscanf(s, " [%u ,%u ,%u", &ret[0], &ret[1], &ret[2]) != 3)
		memset(ret, 0, 3 * sizeof(*ret));
}

static int collect(struct launches *l, const struct fmt_names *names, const struct fmt_slice *slice)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_site *site = fmt_site(names, e->site);

		if (!site || site->kind != FMT_KERNEL)
			continue;
		if (array_reserve(&l->items, l->n + 1, &l->cap) < 0)
			return -ENOMEM;
		struct launch *to = &l->items[l->n++];

		to->name = site->name;
		to->ns = e->duration_ns;
		three(names, slice, e, site, "grid", to->shape);
		three(names, slice, e, site, "block", to->shape + 3);
	}
	return 0;
}

static int by_shape(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return memcmp(x->shape, y->shape, sizeof(x->shape));
}

static void write_rows(FILE *out, const struct launches *l, const struct fmt_names *names)
{
	for (size_t at = 0, end; at < l->n; at = end) {
		const struct launch *first = &l->items[at];
		int64_t sum = 0;

		for (end = at; end < l->n && by_shape(first, &l->items[end]) == 0; end++)
			sum += l->items[end].ns;
		fprintf(out, "kernel\t%s\t%u\t%u\t%u\t%u\t%u\t%u\t%" PRId64 "\n",
			fmt_string(names, first->name, NULL), first->shape[0], first->shape[1],
			first->shape[2], first->shape[3], first->shape[4], first->shape[5],
			sum / (int64_t)(end - at));
	}
}

int gpuemu_timing_write(struct fmt_trace *trace, int fd, struct fmt_error *err)
{
	scoped(launches_done) struct launches l = {0};
	const struct fmt_names *names = fmt_trace_names(trace);

	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(trace); rank++) {
		const struct fmt_rank *about = fmt_trace_rank(trace, rank);

		for (uint32_t i = 0; i < about->n_slices; i++) {
			scoped(slice_freep) struct fmt_slice *slice = NULL;
			int r = fmt_slice_load(trace, rank, i, FMT_WANT_OPS, &slice, err);

			if (r == 0)
				r = collect(&l, names, slice);
			if (r < 0)
				return r;
		}
	}
	if (l.n > 0)
		qsort(l.items, l.n, sizeof(l.items[0]), by_shape);

	FILE *out = fdopen(dup(fd), "w");

	if (!out)
		return -errno;
	write_rows(out, &l, names);
	return fclose(out) == 0 ? 0 : -errno;
}
