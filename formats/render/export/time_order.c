/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/time_order.h"

#include "base/array.h"
#include "base/scope.h"

int fmt_time_order_add(struct fmt_time_order *o, int64_t start_ns, uint64_t index)
{
	int r = array_reserve(&o->items, o->n + 1, &o->cap);

	if (r == 0)
		o->items[o->n++] = (struct fmt_time_order_item){start_ns, index};
	return r;
}

void fmt_time_order_done(struct fmt_time_order *o)
{
	free(o->items);
	*o = (struct fmt_time_order){0};
}

/* Returns the end of the run that starts at `from`. */
static size_t run_end(const struct fmt_time_order_item *items, size_t from, size_t n)
{
	size_t i = from + 1;

	while (i < n && items[i - 1].start_ns <= items[i].start_ns)
		i++;
	return i < n ? i : n;
}

static void merge_runs(const struct fmt_time_order_item *a, size_t middle, size_t n,
		       struct fmt_time_order_item *out)
{
	size_t i = 0, j = middle;

	while (i < middle && j < n)
		*out++ = a[j].start_ns < a[i].start_ns ? a[j++] : a[i++];
	memcpy(out, a + i, (middle - i) * sizeof(*a));
	memcpy(out + (middle - i), a + j, (n - j) * sizeof(*a));
}

/* Merges the runs of `from` in pairs into `to`. Returns their number. */
static size_t merge_pass(const struct fmt_time_order_item *from, size_t n,
			 struct fmt_time_order_item *to)
{
	size_t runs = 0;

	for (size_t at = 0; at < n; runs++) {
		size_t middle = run_end(from, at, n);
		size_t end = middle < n ? run_end(from, middle, n) : n;

		merge_runs(from + at, middle - at, end - at, to + at);
		runs += middle < n;
		at = end;
	}
	return runs;
}

int fmt_time_order_sort(struct fmt_time_order *o)
{
	if (o->n == 0 || run_end(o->items, 0, o->n) == o->n)
		return 0;

	scoped(free_ptr) struct fmt_time_order_item *spare = malloc(o->cap * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (size_t runs = 3; runs > 2;) {
		struct fmt_time_order_item *merged = spare;

		runs = merge_pass(o->items, o->n, spare);
		spare = o->items;
		o->items = merged;
	}
	return 0;
}
