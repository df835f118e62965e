/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/tree.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/loader.h"
#include "fs/stored.h"

/* ---- iterations */

static int by_number(const void *a, const void *b)
{
	return fmt_iteration_order(*(const int64_t *)a, *(const int64_t *)b);
}

int64_t fs_tree_iteration(const struct fs_tree *t, int64_t number)
{
	const int64_t *found = t->n_iterations == 0 ? NULL
						    : bsearch(&number, t->numbers, t->n_iterations,
							      sizeof(*t->numbers), by_number);

	return found ? found - t->numbers : -1;
}

/* Adds the numbers of one rank. On return the array is sorted, without repetitions. */
static int add_numbers(struct fs_tree *t, uint32_t rank, size_t *cap)
{
	uint32_t n = fmt_trace_rank(t->trace, rank)->n_slices;
	size_t used = t->n_iterations, kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t number = fmt_trace_slice(t->trace, rank, i)->iteration.number;
		int r;

		if (used > 0 && t->numbers[used - 1] == number)
			continue;
		if (fs_tree_iteration(t, number) >= 0)
			continue;
		r = array_reserve(&t->numbers, used + 1, cap);
		if (r < 0)
			return r;
		t->numbers[used++] = number;
	}
	if (used == t->n_iterations)
		return 0;
	qsort(t->numbers, used, sizeof(*t->numbers), by_number);
	for (size_t i = 0; i < used; i++) {
		if (kept == 0 || t->numbers[kept - 1] != t->numbers[i])
			t->numbers[kept++] = t->numbers[i];
	}
	if (kept >= FS_MAX_ITERATIONS)
		return -EOVERFLOW;
	t->n_iterations = (uint32_t)kept;
	return 0;
}

static int list_iterations(struct fs_tree *t)
{
	size_t cap = 0;
	int r = 0;

	t->slices_before = calloc((size_t)t->n_ranks + 1, sizeof(*t->slices_before));
	if (!t->slices_before)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < t->n_ranks; i++)
		r = add_numbers(t, i, &cap);
	for (uint32_t i = 0; i < t->n_ranks; i++) {
		t->slices_before[i] = t->n_slices;
		t->n_slices += fmt_trace_rank(t->trace, i)->n_slices;
	}
	if (r < 0)
		return r;
	t->has_before = t->n_iterations > 0 && t->numbers[0] == FMT_BEFORE;
	t->has_after = t->n_iterations > 0 && t->numbers[t->n_iterations - 1] == FMT_AFTER;
	t->lengths = calloc(t->n_slices * FS_PIECES + 1, sizeof(*t->lengths));
	return t->lengths ? 0 : -ENOMEM;
}

/* Returns the start of the run: one second after the epoch if the recording has no date, because
 * some tools treat a file dated 0 as invalid. */
static int64_t run_start(const struct fs_tree *t)
{
	int64_t start = INT64_MAX;

	for (uint32_t i = 0; i < t->n_ranks; i++) {
		const struct fmt_rank *rank = fmt_trace_rank(t->trace, i);

		if (rank->n_slices > 0 && rank->start_ns < start)
			start = rank->start_ns;
	}
	return start < 1000000000 || start == INT64_MAX ? 1000000000 : start;
}

define_cleanup(tree_freep, struct fs_tree *, fs_tree_free);

static int find_slice(void *context, uint32_t rank, uint32_t slice, struct fmt_slice **ret);

int fs_tree_new(struct fmt_trace *trace, struct fs_cache *cache, uint32_t run, struct fs_tree **ret,
		struct fmt_error *err)
{
	scoped(tree_freep) struct fs_tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t) {
		fmt_trace_close(trace);
		return -ENOMEM;
	}
	t->trace = trace;
	t->names = fmt_trace_names(trace);
	t->n_ranks = fmt_trace_n_ranks(trace);
	t->cache = cache;
	t->run = run;
	pthread_mutex_init(&t->last.lock, NULL);
	if (t->n_ranks >= FS_MAX_GPUS || fmt_n_comms(t->names) >= FS_MAX_ITERATIONS)
		return fmt_fail(err, -EOVERFLOW, fmt_trace_path(trace), FMT_NO_OFFSET,
				"more GPUs than a mount can number");
	r = list_iterations(t);
	if (r < 0)
		return r;
	t->start_ns = run_start(t);
	t->path = realpath(fmt_trace_path(trace), NULL);
	r = fmt_tsv_new(t->names, &t->tsv);
	if (r == 0)
		r = fmt_chrome_new(t->names, t->n_ranks, FMT_CHROME_MERGED, 0, &t->chrome);
	if (r == 0)
		r = fs_stored_new(trace, &t->stored);
	if (r < 0)
		return r;
	fmt_trace_set_keeper(trace, (struct fmt_slice_keeper){find_slice, t});
	*ret = take(t);
	return 0;
}

void fs_tree_free(struct fs_tree *t)
{
	if (!t)
		return;
	fmt_chrome_free(t->chrome);
	fs_stored_free(t->stored);
	fmt_tsv_free(t->tsv);
	fmt_trace_close(t->trace);
	free(t->slices_before);
	free(t->numbers);
	free(t->lengths);
	free(t->path);
	pthread_mutex_destroy(&t->last.lock);
	free(t);
}

/* ---- slices */

struct fs_scope fs_scope_of(const struct fs_node *where)
{
	switch (where->dir) {
	case FS_ITERATION:
		return (struct fs_scope){where->iteration, FS_ALL};
	case FS_ITERATION_GPU:
		return (struct fs_scope){where->iteration, where->gpu};
	case FS_GPU:
		return (struct fs_scope){FS_ALL, where->gpu};
	default:
		return (struct fs_scope){FS_ALL, FS_ALL};
	}
}

struct fmt_part fs_tree_part(const struct fs_tree *t, struct fs_scope scope)
{
	return (struct fmt_part){
		.iteration = scope.iteration == FS_ALL ? FMT_ANY : t->numbers[scope.iteration],
		.rank = scope.rank == FS_ALL ? FMT_ANY : (int64_t)scope.rank,
	};
}

struct fmt_walk fs_tree_walk(const struct fs_tree *t, const struct fs_node *where)
{
	const struct fmt_part part = fs_tree_part(t, fs_scope_of(where));

	return fmt_walk(t->trace, &part);
}

bool fs_tree_has_slices(const struct fs_tree *t, uint32_t rank, uint32_t iteration)
{
	const struct fmt_part part = fs_tree_part(t, (struct fs_scope){iteration, rank});
	struct fmt_walk w = fmt_walk(t->trace, &part);

	return fmt_walk_next(&w);
}

uint64_t fs_tree_n_records(const struct fs_tree *t, uint32_t rank, uint32_t slice)
{
	const struct fmt_slice_info *info = fmt_trace_slice(t->trace, rank, slice);
	uint64_t n = info->n_edges + info->n_digests;

	for (size_t kind = 0; kind < FMT_KINDS; kind++)
		n += info->n_records[kind];
	return n;
}

struct loading {
	struct fmt_trace *trace;
	uint32_t rank, slice;
};

static void slice_drop(void *value)
{
	fmt_slice_free(value);
}

static int slice_make(void *context, void **ret, size_t *bytes)
{
	const struct loading *l = context;
	struct fmt_slice *s;
	int r = fmt_slice_load(l->trace, l->rank, l->slice, FMT_WANT_ALL, &s, NULL);

	if (r < 0)
		return r;
	*bytes = sizeof(*s) + (s->n_events + s->n_ranges) * sizeof(*s->events) +
		 s->n_values * sizeof(*s->values) + s->n_edges * sizeof(*s->edges) +
		 s->n_digests * sizeof(*s->digests) + s->n_pages * sizeof(*s->pages);
	*ret = s;
	return 0;
}

static struct fs_key slice_key(const struct fs_tree *t, uint32_t rank, uint32_t slice)
{
	return (struct fs_key){(uint64_t)t->run << 12, (uint64_t)rank << 32 | slice};
}

int fs_tree_slice(struct fs_tree *t, uint32_t rank, uint32_t slice, struct fs_item **ret)
{
	struct loading loading = {t->trace, rank, slice};
	struct fs_item_ops maker = {slice_make, slice_drop, &loading};

	return fs_cache_get(t->cache, slice_key(t, rank, slice), &maker, ret);
}

/* Returns cached slices to reports and pictures, so that they need not decode them again. */
static int find_slice(void *context, uint32_t rank, uint32_t slice, struct fmt_slice **ret)
{
	struct fs_tree *t = context;
	struct fs_item *item = fs_cache_peek(t->cache, slice_key(t, rank, slice));
	struct fmt_slice *copied = item ? fmt_slice_copy(fs_item_value(item)) : NULL;

	fs_cache_put(t->cache, item);
	if (!copied)
		return 0;
	*ret = copied;
	return 1;
}

int fs_tree_each(struct fs_tree *t, const struct fmt_part *part, unsigned want,
		 int (*each)(struct fs_tree *t, const struct fmt_slice *s, void *context),
		 void *context)
{
	scoped(fmt_loader_freep) struct fmt_loader *loader = NULL;
	int r = fmt_loader_new(t->trace, part, want, &loader);
	struct fmt_walk w;

	while (r == 0) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		if (!fmt_loader_next(loader, &w, &slice, &r, NULL))
			break;
		if (r == 0)
			r = each(t, slice, context);
	}
	return r;
}
